"""How well the time model ranks plans: ``python -m tests.ranking.record`` and ``.page``."""
