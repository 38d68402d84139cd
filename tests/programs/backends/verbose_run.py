"""Run code."""

from verbose_setup import *

(code,) = arguments

exec(code)
