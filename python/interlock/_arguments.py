"""Checks of arguments that several modules make."""

from __future__ import annotations

__all__ = ["as_bool"]


def as_bool(argument: str, value: object, error: type[TypeError] = TypeError) -> bool:
    """Return an argument that is a bool of Python or NumPy.

    Args:
        argument: The function and the argument for the error, such as "capture: pin".
        value: The argument.
        error: The class of the error.

    Raises:
        TypeError: `value` has another type. Of the class `error`.

    """
    if isinstance(value, bool):
        return value
    kind = type(value)
    # By name, because NumPy need not be installed. Its class is `bool_` before NumPy 2.
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    raise error(f"{argument} must be a bool, got {kind.__name__}")
