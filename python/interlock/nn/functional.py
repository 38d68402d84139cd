"""Functions of `torch.nn.functional` for tensors of interlock."""

from interlock._core.tensor import cross_entropy, linear, log_softmax, relu, softmax

__all__ = ["cross_entropy", "linear", "log_softmax", "relu", "softmax"]
