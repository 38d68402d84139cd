"""The version of the Python files, which must be that of the extension module."""

VERSION = "0.1.0"
