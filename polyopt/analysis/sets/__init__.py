"""Integer sets: how many points they have, which ones, and bounds on their dimensions."""
