"""Finishing steps that share loops among threads."""
