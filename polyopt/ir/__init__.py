"""What a program is: types, expressions, Scop."""
