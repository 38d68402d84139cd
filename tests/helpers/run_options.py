"""Options of a run of pytest that modules read while they are imported."""

FULL = False
"""Whether pytest runs with `--full`, set by tests/conftest.py before the tests are imported."""
TORCH = "fake"
"""`--torch`: an interpreter with PyTorch, or `fake`."""
JAX = "fake"
"""`--jax`: an interpreter with JAX and NumPy, or `fake`."""
CLUSTERS = "fake"
"""`--clusters`: an interpreter with Dask, Ray, joblib and Spark, or `fake`."""
