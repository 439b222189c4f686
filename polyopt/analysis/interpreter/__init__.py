"""The slow oracle: exact typed semantics of expressions, and a program run instance by instance."""
