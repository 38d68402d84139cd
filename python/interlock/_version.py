"""The version of the Python files, which must equal the version of the extension module."""

VERSION = "0.2.0"
