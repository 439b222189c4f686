"""What a schedule is: the loop tree, scheduled statements, their accesses and buffers."""
