"""Run a few lines."""

from verbose_setup import *

(code,) = arguments

exec(code)
