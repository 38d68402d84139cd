"""Load a copied model as a new module, so that each sequence starts from a new state."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

MODELS = Path(__file__).parents[2] / "models"


def load(name: str) -> ModuleType:
    """Return a new copy of the module `models/NAME.py`; its imports by a bare name are models, too."""
    spec = importlib.util.spec_from_file_location(f"model_{name}", MODELS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    sys.path.insert(0, str(MODELS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(MODELS))
    return module
