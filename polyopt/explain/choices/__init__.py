"""What else a plan could be: places of producers, trade-offs, differences, and a panel for them."""
