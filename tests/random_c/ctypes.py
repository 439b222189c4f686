"""C's arithmetic types on x86-64: ranges, conversions, spellings, and numbers as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .draw import Draw


@dataclass(frozen=True)
class CType:
    """An arithmetic type; ``key`` is short, ``spellings`` are what stands in programs."""

    key: str
    bits: int
    signed: bool
    numpy: str
    spellings: tuple[str, ...]
    #: spellings that a header defines
    named: tuple[str, ...] = ()
    floating: bool = False

    @property
    def low(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest value of an integer type."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def size(self) -> int:
        """Bytes."""
        return max(1, self.bits // 8)


_ALL = (
    CType("bool", 1, False, "bool", ("_Bool",), ("bool",)),
    CType("i8", 8, True, "int8", ("signed char", "char"), ("int8_t",)),
    CType("u8", 8, False, "uint8", ("unsigned char",), ("uint8_t",)),
    CType("i16", 16, True, "int16", ("short", "short int"), ("int16_t",)),
    CType("u16", 16, False, "uint16", ("unsigned short",), ("uint16_t",)),
    CType("i32", 32, True, "int32", ("int", "int", "signed"), ("int32_t",)),
    CType("u32", 32, False, "uint32", ("unsigned", "unsigned int"), ("uint32_t",)),
    CType("i64", 64, True, "int64", ("long", "long long", "long int"), ("int64_t", "ptrdiff_t")),
    CType("u64", 64, False, "uint64", ("unsigned long", "unsigned long long"), ("size_t", "uint64_t")),
    CType("f32", 32, True, "float32", ("float",), (), floating=True),
    CType("f64", 64, True, "float64", ("double",), (), floating=True),
)  # fmt: skip
TYPES = {t.key: t for t in _ALL}
INTEGERS = tuple(t.key for t in _ALL if not t.floating)
FLOATS = ("f32", "f64")
#: as often as programs have them
DATA = (
    "bool", "i8", "u8", "u8", "i16", "u16", "i32", "i32", "i32", "u32", "i64", "u64", "f32", "f32", "f64", "f64",
)  # fmt: skip
#: of sizes and iterators
COUNTERS = (
    "i32", "i32", "i32", "i32", "i64", "i64", "u64", "u64", "u32", "u32", "i16", "u16", "u8", "i8",
)  # fmt: skip


def promoted(key: str) -> str:
    """What the integer promotions make of a type."""
    return "i32" if TYPES[key].bits < 32 else key


def usual(a: str, b: str) -> str:
    """The common type that the usual arithmetic conversions give."""
    if "f64" in (a, b):
        return "f64"
    if "f32" in (a, b):
        return "f32"
    one, other = TYPES[promoted(a)], TYPES[promoted(b)]
    if one.bits != other.bits:
        return max(one, other, key=lambda t: t.bits).key
    return one.key if not one.signed else other.key


def spelled(draw: Draw, key: str, *, headers: bool) -> str:
    """A spelling of a type; those that headers define only where they are there."""
    type_ = TYPES[key]
    return draw.choose(type_.spellings + (type_.named if headers else ()))


_EDGES = (0, 1, 2, 3, 5, 7, 10, 63, 64, 100, 127, 128, 200, 255, 256, 1000, 32767, 65535)
_WIDE = (
    "2147483647",
    "2147483648u",
    "4294967295u",
    "0x7fffffff",
    "0x80000000",
    "0xffffffffu",
    "65536",
)
_WIDEST = (
    "9223372036854775807", "0x7fffffffffffffffLL", "18446744073709551615u", "0xffffffffffffffff",
    "4294967296", "0x100000000", "1099511627776L", "2147483648", "6364136223846793005ULL",
)  # fmt: skip
_FLOATING = (
    "0.5", "1.5f", "2.0", ".25f", "1.f", "0.1f", "0.1", "1e3", "3e-2f", "0x1p-3", "1e30f", "1e300",
    "1e-40f", "5e-324", "16777217.0f", "0.3333333333333333", "-0.0", "-0.0f", "-1.5", "1e10f",
)  # fmt: skip


def integer_literal(draw: Draw) -> tuple[str, str, int]:
    """A number as text, its type and its value."""
    text = draw.choose(
        (str(draw.choose(_EDGES)), str(draw.integer(0, 12)), str(draw.integer(0, 12)), draw.choose(_WIDE), draw.choose(_WIDEST))
    )  # fmt: skip
    if draw.chance(15) and text.isdigit() and len(text) < 6:
        text = draw.choose((hex(int(text)), f"0{int(text):o}", f"0X{int(text):X}", f"{text}"))
    if draw.chance(20) and text[-1] in "0123456789abcdef" and len(text) < 8:
        text += draw.choose(("u", "L", "UL", "ll", "U", "LLU"))
    return text, *typed_literal(text)


def typed_literal(text: str) -> tuple[str, int]:
    """The type and value that C gives an integer literal."""
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    keys = ["i64", "u64"] if "l" in suffix else ["i32", "u32", "i64", "u64"]
    if "u" in suffix:
        keys = [k for k in keys if k[0] == "u"]
    elif not octal and digits[:2].lower() != "0x":
        keys = [k for k in keys if k[0] == "i"]
    return next(k for k in keys if value <= TYPES[k].high), value


def floating_literal(draw: Draw) -> tuple[str, str]:
    """A number with a point or exponent, and its type."""
    text = draw.choose(_FLOATING)
    return text, "f32" if text.endswith("f") and "0x" not in text else "f64"
