"""Functions and parameters of neural networks, under PyTorch's names.

A build without the tensor runtime lacks this module.

There are no modules here except for `MultiheadAttention`, because a flag selects its fast path.
"""

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._homes import set_home
from interlock._lazy import list_exports
from interlock.nn import attention, functional, parameter, quantized
from interlock.nn._multihead_attention import MultiheadAttention
from interlock.nn.parameter import Parameter

__all__ = ["MultiheadAttention", "Parameter", "attention", "functional", "parameter", "quantized"]

set_home(__name__, MultiheadAttention)
list_exports(globals())
