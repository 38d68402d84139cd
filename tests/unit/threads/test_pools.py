"""The thread pools of libraries: NumPy's OpenBLAS, and small libraries with the functions of others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock import threads
from interlock.errors import UnsupportedError

from tests.helpers.fake_libraries import NEEDS_COMPILER
from tests.helpers.subprocess import eval_program
from tests.unit.threads import libraries

# Libraries ignore empty variables.
NEUTRAL = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "")


def run(name: str, *arguments: object, **env: str) -> Any:
    return eval_program(f"threads.pools.{name}", *arguments, env=NEUTRAL | env)


def test_pools_have_openblas_of_numpy() -> None:
    (found,) = [each for each in run("pools_with_numpy") if each["name"] == "openblas.numpy"]
    assert found["library"].startswith("OpenBLAS 0.")
    assert found["extent"] == "process"
    assert found["set_by"] == "default"
    assert found["setting"] == "openblas.numpy.num_threads"
    assert Path(found["file"]).exists()
    assert found["size"] >= 1


def test_pools_have_interlock_without_any_library() -> None:
    (found,) = run("pools_of")
    assert (found["name"], found["extent"], found["file"]) == ("interlock", "process", None)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("soname", "source", "name", "library", "extent"),
    [
        ("libgomp.so.1", libraries.OPENMP, "openmp.libgomp", "OpenMP (libgomp)", "thread"),
        ("libiomp5.so", libraries.OPENMP, "openmp.libiomp5", "OpenMP (libiomp)", "thread"),
        ("libmkl_rt.so.3", libraries.MKL, "mkl.libmkl_rt", "MKL 2026.2-Product (intel)", "thread"),
        ("libblis.so.4", libraries.BLIS, "blis.libblis", "BLIS 9.9 (pthreads)", "process"),
    ],
)
def test_pools_have_a_loaded_library(
    tmp_path: Path, soname: str, source: str, name: str, library: str, extent: str
) -> None:
    path = libraries.build(tmp_path, soname, source)
    (found,) = [each for each in run("pools_of", path) if each["name"] != "interlock"]
    assert (found["name"], found["library"], found["extent"]) == (name, library, extent)
    assert (found["size"], found["file"]) == (4, path)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("parallel", "library", "extent"),
    [
        (0, "OpenBLAS 0.3.99 (disabled, Fake)", "process"),
        (1, "OpenBLAS 0.3.99 (pthreads, Fake)", "process"),
        (2, "OpenBLAS 0.3.99 (openmp, Fake)", "thread"),
    ],
)
def test_extent_of_openblas_depends_on_its_build(
    tmp_path: Path, parallel: int, library: str, extent: str
) -> None:
    path = libraries.openblas(tmp_path, parallel=parallel)
    found = run("pools_of", path)[0]
    assert (found["name"], found["library"], found["extent"]) == ("openblas.libopenblas", library, extent)


@NEEDS_COMPILER
def test_extents_are_those_that_threadpoolctl_finds_by_experiment(tmp_path: Path) -> None:
    paths = [
        libraries.openblas(tmp_path / "pthreads"),
        libraries.openblas(tmp_path / "openmp", parallel=2),
        libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP),
        libraries.build(tmp_path, "libmkl_rt.so.3", libraries.MKL),
        libraries.build(tmp_path, "libblis.so.4", libraries.BLIS),
    ]
    found = run("extents_and_experiments", *paths)
    # And that of NumPy.
    assert len(found) == 6
    assert [extent for extent, _ in found.values()] == [experiment for _, experiment in found.values()]


@NEEDS_COMPILER
def test_pools_of_packages_are_named_after_them(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    paths = [
        libraries.openblas(folder / "scipy.libs"),
        libraries.build(folder / "my-torch" / "lib", "libgomp.so.1", libraries.OPENMP),
        libraries.build(folder / "my-torch" / "lib", "libiomp5.so", libraries.OPENMP),
        # Of no package.
        libraries.build(folder, "libmkl_rt.so.3", libraries.MKL),
    ]
    names = {each["file"]: each["name"] for each in run("pools_of", *paths)}
    assert names[paths[0]] == "openblas.scipy"
    assert {names[paths[1]], names[paths[2]]} in (
        {"openmp.my_torch", "openmp.my_torch_libiomp5"},
        {"openmp.my_torch", "openmp.my_torch_libgomp"},
    )
    assert names[paths[3]] == "mkl.libmkl_rt"


@NEEDS_COMPILER
def test_pools_show_a_library_that_was_loaded_without_an_import(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    assert run("names_before_and_after_loading", path) == [["interlock"], ["openmp.libgomp", "interlock"]]


@pytest.mark.parametrize(
    ("value", "set_by"),
    [
        ("1", "OMP_NUM_THREADS=1"),
        ("1,4", "OMP_NUM_THREADS=1,4"),
        ("x", "OMP_NUM_THREADS=x, which the library reduced or read too late"),
    ],
)
def test_pool_set_by_a_variable_names_it(value: str, set_by: str) -> None:
    (found,) = run("pools_of", OMP_NUM_THREADS=value)
    assert found["set_by"] == set_by


def test_pool_set_by_code_names_its_line() -> None:
    found = run("set_sizes")
    assert found["before"] == "default"
    assert found["function"] == found["line of threadpoolctl"]
    assert found["unseen"] == "code that cannot be seen"
    assert found["limits"] == found["line of limits"]


def test_pools_of_modules_with_their_own_functions() -> None:
    found = {each["name"]: each for each in run("pools_of_fakes")}
    assert [found["numexpr"][key] for key in ("library", "size", "extent")] == ["numexpr 2.99", 3, "process"]
    assert [found["torch"][key] for key in ("size", "extent")] == [5, "process"]
    assert [found["torch.interop"][key] for key in ("size", "extent")] == [7, "start"]
    assert [found["onnxruntime"][key] for key in ("size", "extent", "set_by")] == [
        *(2, "start"),
        "ORT_INTRA_OP_NUM_THREADS=2",
    ]
    assert found["rayon"]["note"].startswith("tokenizers may have started the pool, which reads RAYON_NUM_")
    assert (found["rayon"]["size"], found["rayon"]["extent"]) == (None, "start")


@pytest.mark.parametrize(
    ("threadpoolctl", "message"),
    [
        (
            None,
            "pools: the package threadpoolctl, which finds BLAS libraries and OpenMP runtimes, is not "
            "installed: pip install 'threadpoolctl>=3.8'",
        ),
        (
            "3.6.0",
            "pools: threadpoolctl must have version 3.8 or newer, got 3.6.0: pip install "
            "'threadpoolctl>=3.8'",
        ),
    ],
)
@pytest.mark.parametrize("function", [threads.pools, threads.oversubscription, threads.set_limits])
def test_functions_without_threadpoolctl_say_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, threadpoolctl: str | None, message: str, function: Callable[[], object]
) -> None:
    module: Any = None
    if threadpoolctl is not None:
        module = type(sys)("threadpoolctl")
        module.__version__ = threadpoolctl
    monkeypatch.setitem(sys.modules, "threadpoolctl", module)
    with pytest.raises(UnsupportedError) as caught:
        function()
    assert str(caught.value) == message.replace("pools", function.__name__, 1)
