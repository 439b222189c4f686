"""Math functions as C that compilers make vectors of, with the same bits everywhere."""
