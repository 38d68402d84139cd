"""Prints what a module that is run sees."""

import os
import sys

import torch

torch.backends.cudnn.benchmark = True
print(
    sys.argv[1:], os.path.basename(sys.argv[0]), __name__, __package__, __spec__.name, __file__ == sys.argv[0]
)
