import json
import sys

import interlock
from interlock import backends

(table, modules) = map(json.loads, sys.argv[1:])


def owner_of(name):
    owner = backends
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    return owner, name.split(".")[-1]


for name, values in table.items():
    owner, attribute = owner_of(name)
    for value in values:
        before = getattr(owner, attribute)
        setattr(owner, attribute, value)
        delattr(owner, attribute)
        with backends.override({name: value}):
            getattr(owner, attribute)
        backends.explain(name)
        assert getattr(owner, attribute) == before
for module in modules:
    module = getattr(backends, module) if module else backends
    with module.flags():
        pass
interlock.set_float32_matmul_precision("high")
interlock.use_deterministic_algorithms(True, warn_only=True)
backends.restore(backends.snapshot())
backends.reset()
