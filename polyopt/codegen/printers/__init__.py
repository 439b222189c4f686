"""The C tree as text, and what is counted in it."""
