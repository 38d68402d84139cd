"""Tests of the C interface: extension modules that reach interlock's state."""
