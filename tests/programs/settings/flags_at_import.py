"""A package that sets a flag of PyTorch when it is imported, before anything is enabled."""

import torch

torch.backends.cudnn.benchmark = False
