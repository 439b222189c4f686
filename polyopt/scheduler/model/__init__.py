"""The cost model: operations, bytes through each cache, a plan's cost, time, and its formulas."""
