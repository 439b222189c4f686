"""Lowering of expressions: the IR's operations and isl's affine forms as typed C."""
