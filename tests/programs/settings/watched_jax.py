"""A program to watch that sets options of JAX and NumPy."""

import os

import jax
import jax_options_at_import
import numpy

jax.devices()
jax.config.update("jax_platforms", "tpu")
os.environ["JAX_DEBUG_NANS"] = "1"
numpy.seterr(over="raise")
numpy.set_printoptions(precision=3)
