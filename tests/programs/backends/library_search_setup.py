import ctypes
import json
import os
import sys

from interlock.backends import libraries
from interlock.errors import LibraryNotFoundError


def state_of(library):
    return [library.path, library.source, library.is_loaded, library.version]


def is_mapped(text):
    with open("/proc/self/maps") as maps:
        return text in maps.read()


def refused(call, *arguments):
    try:
        call(*arguments)
    except LibraryNotFoundError as error:
        return [type(error).__name__, str(error)]
