"""What was done and why: remarks, tables and pictures."""
