"""From a planned program to the schedule tree that isl generates loops from."""
