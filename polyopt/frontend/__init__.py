"""How programs come in: C, Python loop functions, stages."""
