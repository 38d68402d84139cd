"""The type variables of a flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Value = TypeVar("Value", default=Any)
    Value_co = TypeVar("Value_co", default=Any, covariant=True)
    Also_contra = TypeVar("Also_contra", default=Never, contravariant=True)
else:
    # Its defaults exist since Python 3.13.
    from typing import TypeVar

    Value = TypeVar("Value")
    """The type that reading the flag returns."""
    Value_co = TypeVar("Value_co", covariant=True)
    """The same, of what only reports values."""
    Also_contra = TypeVar("Also_contra", contravariant=True)
    """The type that the flag also accepts, such as the names of members of an enumeration."""
