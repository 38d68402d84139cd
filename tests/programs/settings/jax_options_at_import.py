"""A package that enables 64-bit types when it is imported."""

import jax

jax.config.update("jax_enable_x64", True)
