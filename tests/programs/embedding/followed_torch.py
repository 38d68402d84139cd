"""A program of PyTorch in a host of Rust: PyTorch obeys the host."""

import json

from interlock.integrations.torch import follow

follow()

import torch  # noqa: E402


def show():
    print(json.dumps([torch.is_grad_enabled(), torch.backends.cudnn.benchmark]), flush=True)


show()
