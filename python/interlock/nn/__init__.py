"""Functions of neural networks, under PyTorch's names: see `functional` and `attention`.

There are no modules here except for `MultiheadAttention`, because a flag selects its fast path.
"""

from interlock.nn import attention, functional
from interlock.nn._multihead_attention import MultiheadAttention

__all__ = ["MultiheadAttention", "attention", "functional"]

MultiheadAttention.__module__ = __name__
