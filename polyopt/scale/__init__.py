"""Arrays larger than memory, more than one machine, and results mended where inputs changed."""

from polyopt.scale.cut import Cut, cuts
from polyopt.scale.map_blocks import map_blocks
from polyopt.scale.update import Update, update

__all__ = ["Cut", "Update", "cuts", "map_blocks", "update"]
