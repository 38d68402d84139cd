"""Load a copied model as a module of its own, so that each sequence starts from fresh state."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

MODELS = Path(__file__).parents[2] / "models"


def load(name: str) -> ModuleType:
    """A new copy of `models/NAME.py`; what it imports by a bare name is a model too."""
    spec = importlib.util.spec_from_file_location(f"model_{name}", MODELS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    sys.path.insert(0, str(MODELS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(MODELS))
    return module
