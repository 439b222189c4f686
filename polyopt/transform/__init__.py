"""Plans, their moves, and the proof that a plan computes what its program computes."""
