"""Status codes of exported libraries: a number, a name, and what a caller reads."""

from __future__ import annotations

#: Numbers are part of the binary interface: new ones go to the end. The second entry says whether
#: only libraries with weights have the status.
STATUSES = (
    ("OK", False, "no error"),
    ("OUT_OF_MEMORY", False, "out of memory"),
    ("NULL_POINTER", False, "a pointer is null"),
    ("BAD_SIZE", False, "sizes are not those that it is made for, or too large"),
    ("BAD_COUNT", False, "an array does not have as many elements as the sizes say"),
    ("MISALIGNED", False, "an array does not start at a multiple of its elements' size"),
    ("OVERLAP", False, "an array that is written shares memory with another"),
    ("BAD_THREADS", False, "the number of threads is not from 0 to 4096"),
    ("BAD_INDEX", False, "an element that chooses elements of another array is outside of it"),
    ("WRONG_PROCESSOR", False, "it was compiled for a processor that can do more than this one"),
    ("BUSY", True, "another call is running on this model"),
    ("NO_FILE", True, "the weights cannot be opened and mapped"),
    ("NOT_WEIGHTS", True, "the file does not hold weights"),
    ("OTHER_VERSION", True, "the weights are of another version of the format"),
    ("OTHER_BYTE_ORDER", True, "the weights are in another order of bytes"),
    ("TRUNCATED", True, "the weights are not as long as they say"),
    ("OTHER_WEIGHTS", True, "the weights are those of another library"),
    ("DAMAGED", True, "the weights are not those that were written"),
)  # fmt: skip
