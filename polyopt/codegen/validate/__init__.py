"""Translation validation: printed code is read back and compared with the plan."""
