"""Enums whose errors name their members."""

from __future__ import annotations

import enum
from typing import Never

from interlock._quote import shown


class QuotingEnum(enum.Enum):
    """Base of enums that name their members in the error for another value."""

    @classmethod
    def _missing_(cls, value: object) -> Never:
        known = ", ".join(repr(member.value) for member in cls)
        raise ValueError(f"{cls.__name__}: value must be one of {known}, got {shown(value)}")
