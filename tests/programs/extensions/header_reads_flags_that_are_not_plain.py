"""Prints what the header reads of flags that are not plain, without and with an open scope."""

import reading
from interlock import backends

print(reading.read())
with backends.override(**{"cudnn.benchmark": True}):
    print(reading.read())
