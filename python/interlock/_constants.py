"""The constants of `math`, without its import: on some systems it loads a shared library."""

from __future__ import annotations

__all__ = ["e", "inf", "nan", "pi"]

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
pi = 3.141592653589793
