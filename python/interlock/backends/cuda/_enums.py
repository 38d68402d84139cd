"""What the enums of this package share."""

from __future__ import annotations

import enum


class NumberedEnum(enum.Enum):
    """An enum whose members have PyTorch's numbers: `int(member)` gives it, and no member equals a number."""

    def __int__(self) -> int:
        number: int = self.value
        return number

    __index__ = __int__
