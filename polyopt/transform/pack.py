"""pack: copy what a tile reads of an array into a contiguous buffer first, and read that.

*Does not handle* anything yet beyond refusing clearly.
"""
