"""Sequences that code must not read as if they were short lists."""

from __future__ import annotations

from typing import Any


class Long:
    """A sequence whose length exceeds the memory. It has no items."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: int) -> Any:
        raise IndexError
