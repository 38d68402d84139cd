"""Overrides each setting of PyTorch and prints what it left behind."""

import json
import sys

from interlock import settings
from interlock.errors import SettingValueError

OTHER = {
    True: False,
    False: True,
    "none": "ieee",
    "tf32": "ieee",
    "ieee": "tf32",
    "highest": "high",
    "float32": "float64",
    "float16": "bfloat16",
    "bfloat16": "float16",
    "x86": "fbgemm",
}

settings.enable("torch")
before_import = settings.names()
import torch

names = settings.names()
first = settings.snapshot()
read_only, refused, unset, left = [], {}, [], []
for name in names:
    value = settings.explain(name).value
    other = value + 1 if type(value) is int else OTHER.get(value)
    if name.startswith("torch.default_device"):
        other = "meta"
    if other is None:
        continue
    try:
        with settings.override({name: other}):
            if settings.explain(name).value != other:
                unset.append(name)
    except SettingValueError as error:
        read_only.append(name) if "is read-only" in str(error) else refused.update({name: str(error)})
    left += [f"{name}: {each}" for each in settings.diff(first)]
# The settings that are left out of a snapshot, because PyTorch cannot read them, would be missed here.
missing = sorted(set(names) - set(first) - set(settings.snapshot()))
unseen = [str(write) for write in settings.writes() if write.file is None]
settings.disable("torch")
originals = [torch._C._set_cudnn_benchmark, torch.set_num_threads, torch._C.set_num_threads]
print(
    json.dumps(
        {
            "before_import": before_import,
            "names": names,
            "values": {name: first.get(name) for name in names},
            "read_only": read_only,
            "refused": refused,
            "unset": unset,
            "left": left,
            "missing": missing,
            "unseen": unseen,
            "wrapped": [hasattr(each, "__wrapped__") for each in originals],
            "cuda": torch.cuda.is_initialized(),
        }
    )
)
