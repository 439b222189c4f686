"""The search: which steps run in what order, and which of several whole plans is taken."""
