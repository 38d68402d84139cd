import importlib
import pickle
import sys
from unittest import mock

from interlock import backends

assert importlib.reload(backends.mha) is backends.mha
assert importlib.reload(backends) is backends
first = sys.modules.pop("interlock.backends.nnpack")
second = importlib.import_module("interlock.backends.nnpack")
assert backends.nnpack is second is not first
assert pickle.loads(pickle.dumps(backends.explain("cudnn.enabled"))).value is True
with mock.patch("interlock.backends.cuda.enable_flash_sdp") as patched:
    backends.cuda.enable_flash_sdp(False)
    patched.assert_called_once_with(False)
backends.cuda.enable_flash_sdp(False)
print(backends.cuda.flash_sdp_enabled())
