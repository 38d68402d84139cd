"""Conversions of the values that a user passes for settings to those that reading returns.

They raise `SettingValueError` for other values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError


def boolean(value: Any) -> bool:
    """Accept a bool."""
    if not isinstance(value, bool):
        raise SettingValueError(f"must be a bool, got {shown(value)}")
    return value


def non_negative(value: Any) -> int:
    """Accept an int that is not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SettingValueError(f"must be a non-negative int, got {shown(value)}")
    return int(value)


def non_negative_number(value: Any) -> int | float:
    """Accept an int or a float that is not negative, such as infinity."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise SettingValueError(f"must be a non-negative number, got {shown(value)}")
    return value


def positive(value: Any) -> int:
    """Accept an int that is positive."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingValueError(f"must be a positive int, got {shown(value)}")
    return int(value)


def text(value: Any) -> str:
    """Accept a str."""
    if not isinstance(value, str):
        raise SettingValueError(f"must be a str, got {shown(value)}")
    return value


def one_of(*accepted: str) -> Callable[[Any], str]:
    """Return a conversion that accepts these texts."""

    def convert(value: Any) -> str:
        if not isinstance(value, str) or value not in accepted:
            raise SettingValueError(f"must be one of {', '.join(map(repr, accepted))}, got {shown(value)}")
        return value

    return convert
