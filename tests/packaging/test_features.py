"""The names that a build without the tensor runtime lacks, and the errors that name the cure.

Other tests are skipped where they raise one of these errors (tests/conftest.py). The tests marked `light` are
not: they compare the names with the stubs and the sources.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import autograd, backends
from interlock._features import HAS_TENSORS, MISSING, attribute_error

ROOT = Path(__file__).parents[2]
CURE = "this build has no tensor runtime; install interlock with the default features"

# The names of public modules that need tensors; `interlock` also lacks those of `interlock._core.tensor`.
NEED_TENSORS = {
    "interlock": {"fft", "linalg", "nn", "return_types", "double", "float", "int", "long", "short"},
    "interlock.accelerator": {"random"},
    "interlock.autograd": {
        "Function",
        "Node",
        "backward",
        "function",
        "grad",
        "gradcheck",
        "gradgradcheck",
        "graph",
    },
    "interlock.dispatch": {"KernelCall", "RegisteredKernel", "explain", "register_kernel"},
    "interlock.utils": {"checkpoint", "hooks"},
}
MODULES_OF_TENSORS = (
    "interlock.autograd.function",
    "interlock.autograd.gradcheck",
    "interlock.autograd.graph",
    "interlock.fft",
    "interlock.linalg",
    "interlock.nn",
    "interlock.nn.functional",
    "interlock.return_types",
    "interlock.utils.checkpoint",
    "interlock.utils.hooks",
)


def exported(path: Path) -> set[str]:
    """Return `__all__` of a source file or stub."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            if ast.unparse(target) == "__all__":
                names.update(ast.literal_eval(node.value))
    assert names, f"{path} has no __all__"
    return names


def source(module: str) -> Path:
    path = ROOT / "python" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def star_import(module: str) -> set[str]:
    """Return the names that `from module import *` defines."""
    names: dict[str, object] = {}
    exec(f"from {module} import *", names)
    return names.keys() - {"__builtins__"}


def test_features_name_the_tensor_runtime_if_it_was_built() -> None:
    assert interlock.__features__ == (("tensor",) if HAS_TENSORS else ())


@pytest.mark.skipif(not HAS_TENSORS, reason="needs the default features")
def test_complete_build_lacks_no_name() -> None:
    assert MISSING == {}
    for module in NEED_TENSORS:
        assert star_import(module) == exported(source(module))


@pytest.mark.light
def test_build_without_tensors_lacks_only_names_that_need_them() -> None:
    of_runtime = exported(ROOT / "stubs/interlock/_core/tensor.pyi")
    assert MISSING.keys() == NEED_TENSORS.keys()
    for module, names in NEED_TENSORS.items():
        every = exported(source(module))
        missing = names | (every & of_runtime if module == "interlock" else set())
        assert MISSING[module] == missing
        assert star_import(module) == every - missing


@pytest.mark.light
@pytest.mark.parametrize("module", NEED_TENSORS)
def test_missing_names_raise_attribute_error_with_the_cure(module: str) -> None:
    for name in NEED_TENSORS[module]:
        assert not hasattr(importlib.import_module(module), name)
        with pytest.raises(AttributeError, match=rf"^{module}\.{name} is missing: {CURE}"):
            getattr(importlib.import_module(module), name)


@pytest.mark.light
@pytest.mark.parametrize(
    "name",
    ["interlock.ones", "interlock.Tensor", "interlock.float32", "interlock.autograd.grad", "interlock.nn"],
)
def test_from_import_of_a_missing_name_raises_import_error_with_the_cure(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    with pytest.raises(ImportError, match=rf"^{module}\.{attribute} is missing: {CURE}"):
        exec(f"from {module} import {attribute}")


@pytest.mark.light
@pytest.mark.parametrize("module", MODULES_OF_TENSORS)
def test_import_of_a_module_of_tensors_raises_and_leaves_nothing(module: str) -> None:
    with pytest.raises(ImportError, match=CURE):
        importlib.import_module(module)
    assert module not in sys.modules
    parent, _, name = module.rpartition(".")
    if parent in sys.modules:
        assert not hasattr(sys.modules[parent], name)


@pytest.mark.light
def test_objects_that_accept_tensors_accept_none() -> None:
    query: Any = 1
    assert set() == backends.cudnn.CUDNN_TENSOR_DTYPES
    with pytest.raises(TypeError, match="tensors must be a Tensor, got int"):
        interlock._unsafe_preserve_version_counter([query])
    with pytest.raises(TypeError, match="query must be a Tensor, got int"):
        backends.cuda.SDPAParams(query, query, query, None, 0.0, False, False)


def test_names_that_no_build_has_are_not_called_missing() -> None:
    for module in (interlock, autograd, backends.cudnn):
        with pytest.raises(AttributeError, match=r"has no attribute 'onse'"):
            getattr(module, "onse")  # noqa: B009 (mypy knows that there is no such attribute)
    assert str(attribute_error("interlock", "onse")) == "module 'interlock' has no attribute 'onse'"
