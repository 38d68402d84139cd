"""A package that can be run."""
