"""A fake of JAX for tests of its settings.

It has the objects that `interlock.integrations._jax` uses, with JAX's behaviour as far as options are
concerned. `make test-integrations` runs the same tests with JAX.
"""

from jax._src import config as _config, xla_bridge as _bridge

__version__ = "0.10.2+fake"

config = _config.config
devices = _bridge.devices
enable_x64 = _config.states["jax_enable_x64"]
default_matmul_precision = _config.states["jax_default_matmul_precision"]
