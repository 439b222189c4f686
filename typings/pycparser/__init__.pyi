# What polyopt uses of pycparser, typed.
