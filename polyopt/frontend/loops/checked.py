"""What type checkers and editors take for ``po.u16``: a type that may be subscripted by sizes.

To them an annotation is a type, and a text in it the name of one: ``u16["H", "W - 2"]`` would name
``H``. A class with a ``__class_getitem__`` of its own is taken as it stands. Its instances are both
the array and the scalar that such an argument is, so all of NumPy's operations are allowed on them.
At run time these names are the values of ``annotations``; nothing here is ever loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from polyopt.ir.types import ScalarType


class _Kind(Any):
    """An array or a scalar of one type; called, a cast."""

    type: ClassVar[ScalarType]
    dtype: ClassVar[np.dtype[Any]]

    def __new__(cls, value: object) -> Any:  # noqa: ANN401  (whatever NumPy's scalar can do)
        """The value as a NumPy scalar of this type."""
        raise NotImplementedError

    def __class_getitem__(cls, extents: int | str | tuple[int | str, ...]) -> object:
        """An array of this type."""
        raise NotImplementedError


class boolean(_Kind):  # noqa: N801
    """A truth value."""


class i8(_Kind):  # noqa: N801
    """Signed, of 8 bits."""


class i16(_Kind):  # noqa: N801
    """Signed, of 16 bits."""


class i32(_Kind):  # noqa: N801
    """Signed, of 32 bits."""


class i64(_Kind):  # noqa: N801
    """Signed, of 64 bits."""


class u8(_Kind):  # noqa: N801
    """Unsigned, of 8 bits."""


class u16(_Kind):  # noqa: N801
    """Unsigned, of 16 bits."""


class u32(_Kind):  # noqa: N801
    """Unsigned, of 32 bits."""


class u64(_Kind):  # noqa: N801
    """Unsigned, of 64 bits."""


class f16(_Kind):  # noqa: N801
    """Floating, of 16 bits, binary16 of IEEE 754: elements of arrays, computed with as f32."""


class bf16(_Kind):  # noqa: N801
    """Floating, of 16 bits, bfloat16: elements of arrays, computed with as f32."""


class f32(_Kind):  # noqa: N801
    """Floating, of 32 bits."""


class f64(_Kind):  # noqa: N801
    """Floating, of 64 bits."""
