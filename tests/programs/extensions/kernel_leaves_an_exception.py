"""Prints what a product raises while a kernel leaves an exception set and returns the given status."""

import sys

import interlock
import raising

raising.add(int(sys.argv[1]))
x = interlock.ones(2, 2)
try:
    x @ x
except (KeyError, RuntimeError) as error:
    print(repr(error), repr(error.__context__), sep=" | ")
