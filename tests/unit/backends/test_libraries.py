"""Vendor libraries: found without being loaded, loaded on request, optional."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import backends
from interlock._features import HAS_TENSORS

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program, eval_python

LOADED = """
    import sys
    def is_loaded(name):
        with open("/proc/self/maps") as maps:
            return name in maps.read()
"""
#: The preferred file name of each module's library.
MODULES = {
    "cudnn": "libcudnn.so.9",
    "cusparselt": "libcusparseLt.so.0",
    "mkl": "libmkl_rt.so.3",
    "mkldnn": "libdnnl.so.3",
    "openmp": "libiomp5.so",
}
EACH = pytest.mark.parametrize(("module", "soname"), MODULES.items(), ids=MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_is_available_returns_a_bool_everywhere(module: str) -> None:
    assert isinstance(getattr(backends, module).is_available(), bool)


def test_unsupported_backends_are_not_available() -> None:
    assert backends.kleidiai.is_available() is False
    assert backends.mkldnn.is_acl_available() is False


def test_import_and_is_available_load_nothing() -> None:
    assert eval_program("backends.libraries.import_and_is_available_load_nothing") == []


# With tensors, `explain` names the operations that obey the flag of the test instead of a library.
NAMES_A_LIBRARY = pytest.mark.skipif(
    HAS_TENSORS, reason="checks a build without tensors (make install-light)"
)
CUSOLVER = fake_libraries.PROPERTIES % ("cusolverGetProperty", 12, 0, 1)


@fake_libraries.NEEDS_COMPILER
@EACH
def test_library_on_the_library_path_is_found_and_not_loaded(
    module: str, soname: str, tmp_path: Path
) -> None:
    fake_libraries.build(tmp_path, soname, fake_libraries.EMPTY_LIBRARY)
    code = f"""{LOADED}
    from interlock import backends
    result = [backends.{module}.is_available(), is_loaded({str(tmp_path)!r})]
    """
    assert eval_python(code, env=fake_libraries.environment(tmp_path)) == [True, False]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("CUDA_HOME", "lib64"),
        ("CUDA_HOME", "lib"),
        ("CUDA_PATH", "lib64"),
        ("CUDA_PATH", "lib"),
        ("CONDA_PREFIX", "lib"),
    ],
)
def test_library_of_an_installation_is_found(variable: str, below: str, tmp_path: Path) -> None:
    fake_libraries.build(tmp_path / below, "libcudnn.so.9", fake_libraries.CUDNN % 90_200)
    code = "from interlock import backends\nresult = backends.cudnn.is_available(), backends.cudnn.version()"
    env = fake_libraries.environment(**{variable: str(tmp_path)})
    assert eval_python(code, env=env) == [True, 90_200]


@fake_libraries.NEEDS_COMPILER
def test_loaded_library_precedes_library_path_and_installation(tmp_path: Path) -> None:
    for number, name in enumerate(("first", "second", "third"), 1):
        below = tmp_path / name / "lib" if name == "second" else tmp_path / name
        fake_libraries.build(below, "libcudnn.so.9", fake_libraries.CUDNN % number)
    env = fake_libraries.environment(tmp_path / "first", CUDA_HOME=str(tmp_path / "second"))
    query = "from interlock import backends\nresult = backends.cudnn.version()"
    assert eval_python(query, env=env) == 1
    load = f"import ctypes\nctypes.CDLL({str(tmp_path / 'third' / 'libcudnn.so.9')!r})\n"
    assert eval_python(load + query, env=env) == 3


@fake_libraries.NEEDS_COMPILER
def test_unloadable_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "libcudnn.so.9").write_text("not a library")
    (tmp_path / "a folder" / "libcudnn.so.9").mkdir(parents=True)
    fake_libraries.build(tmp_path / "good", "libcudnn.so.8", fake_libraries.CUDNN % 8_906)
    folders = [tmp_path / name for name in ("broken", "a folder", "good")]
    query = "from interlock import backends\nresult = backends.cudnn.version()"
    assert eval_python(query, env=fake_libraries.environment(*folders)) == 8_906


@fake_libraries.NEEDS_COMPILER
def test_version_is_queried_from_the_library_which_stays_loaded(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 91_002)
    assert eval_program(
        "backends.libraries.version_is_queried_from_the_library_which_stays_loaded",
        str(tmp_path),
        env=fake_libraries.environment(tmp_path),
    ) == [False, 91_002, 91_002, True]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize(
    ("parts", "version", "largest"),
    [((0, 4, 0), 400, 4), ((0, 5, 2), 502, 5), ((0, 6, 2), 602, 37), ((0, 8, 1), 801, None)],
)
def test_cusparselt_knows_its_version_and_the_algorithms_of_some(
    parts: tuple[int, int, int], version: int, largest: int | None, tmp_path: Path
) -> None:
    fake_libraries.build(tmp_path, "libcusparseLt.so.0", fake_libraries.CUSPARSELT % parts)
    code = """
        from interlock.backends import cusparselt
        result = [cusparselt.is_available(), cusparselt.version(), cusparselt.get_max_alg_id()]
    """
    assert eval_python(code, env=fake_libraries.environment(tmp_path)) == [True, version, largest]


@fake_libraries.NEEDS_COMPILER
def test_library_without_a_version_function_has_no_version(tmp_path: Path) -> None:
    for soname in ("libcudnn.so.9", "libcusparseLt.so.0"):
        fake_libraries.build(tmp_path, soname, fake_libraries.EMPTY_LIBRARY)
    code = """
        from interlock import backends
        cusparselt = backends.cusparselt
        result = [backends.cudnn.version(), cusparselt.version(), cusparselt.get_max_alg_id()]
    """
    assert eval_python(code, env=fake_libraries.environment(tmp_path)) == [None, None, None]


def test_absent_library_has_no_version() -> None:
    if not backends.cudnn.is_available():
        assert backends.cudnn.version() is None
    if not backends.cusparselt.is_available():
        assert backends.cusparselt.version() is None
        assert backends.cusparselt.get_max_alg_id() is None


@fake_libraries.NEEDS_COMPILER
def test_version_is_equal_for_concurrent_threads(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 91_002)
    assert (
        eval_program(
            "backends.libraries.version_is_equal_for_concurrent_threads",
            env=fake_libraries.environment(tmp_path),
        )
        == [91_002] * 8
    )


@NAMES_A_LIBRARY
@fake_libraries.NEEDS_COMPILER
def test_explain_reports_whether_the_affected_library_is_available(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path / "packages" / "nvidia" / "cusolver" / "lib", "libcusolver.so.12", CUSOLVER)
    absent, found, loaded = eval_program(
        "backends.libraries.explain_reports_whether_the_affected_library_is_available",
        str(tmp_path / "packages"),
        env=fake_libraries.environment(),
    )
    assert absent in (": no effect here, cuSOLVER not found", ": no effect here, cuSOLVER not loaded")
    assert found == ": no effect here, cuSOLVER not loaded"
    assert loaded == " through cuSOLVER"


@NAMES_A_LIBRARY
@fake_libraries.NEEDS_COMPILER
def test_explain_follows_library_variables_immediately(tmp_path: Path) -> None:
    library = fake_libraries.build(tmp_path / "there", "libcusolver.so.12", CUSOLVER)
    absent, *reported = eval_program(
        "backends.libraries.explain_follows_library_variables_immediately",
        str(tmp_path / "there"),
        str(tmp_path / "nowhere"),
        str(library),
        str(tmp_path),
        env=fake_libraries.environment(),
    )
    found, not_found = ", cuSOLVER not loaded", ", cuSOLVER not found"
    if absent == not_found:
        assert reported[:4] == [found, found, not_found, not_found]
    assert reported[4:] == [found, found, not_found, not_found, found, not_found]


@NAMES_A_LIBRARY
@fake_libraries.NEEDS_COMPILER
def test_explain_follows_libraries_loaded_by_other_code(tmp_path: Path) -> None:
    library = fake_libraries.build(tmp_path, "libcusolver.so.12", CUSOLVER)
    assert eval_program(
        "backends.libraries.explain_follows_libraries_loaded_by_other_code",
        str(library),
        env=fake_libraries.environment(),
    ) == [True, " through cuSOLVER"]


@NAMES_A_LIBRARY
@fake_libraries.NEEDS_COMPILER
def test_explain_finds_a_new_library_file(tmp_path: Path) -> None:
    library = fake_libraries.build(tmp_path, "libcusolver.so.12", CUSOLVER)
    hidden = library.rename(tmp_path / "hidden")
    (before,) = eval_program(
        "backends.libraries.explain_finds_a_new_library_file",
        str(hidden),
        str(library),
        env=fake_libraries.environment(tmp_path),
    )
    if before != ", cuSOLVER not found":
        pytest.skip("a cuSOLVER is installed here, so none can appear")


def test_cudnn_accepts_the_dtypes_of_tensors() -> None:
    assert {interlock.float16, interlock.float32, interlock.float64} == backends.cudnn.CUDNN_TENSOR_DTYPES
    assert interlock.int64 not in backends.cudnn.CUDNN_TENSOR_DTYPES


def test_is_acceptable_is_false_for_a_cpu_tensor() -> None:
    assert backends.cudnn.is_acceptable(interlock.ones(2)) is False


@fake_libraries.NEEDS_COMPILER
def test_is_acceptable_is_true_on_cuda_if_cudnn_is_enabled_and_found(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 91_002)
    answer = eval_program("backends.libraries.query_is_acceptable", env=fake_libraries.environment(tmp_path))
    assert answer == [[True, []], [False, []], [False, []], [False, []]]


@fake_libraries.NEEDS_COMPILER
def test_is_acceptable_warns_if_only_cudnn_is_missing(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.EMPTY_LIBRARY)
    answer = eval_program("backends.libraries.query_is_acceptable", env=fake_libraries.environment(tmp_path))
    assert answer == [[False, ["UserWarning"]], [False, []], [False, []], [False, []]]


NEW = {
    "cpu": backends.cpu,
    "cusparselt": backends.cusparselt,
    "kleidiai": backends.kleidiai,
    "libraries": backends.libraries,
    "mkl": backends.mkl,
    "mps": backends.mps,
    "openmp": backends.openmp,
}


@pytest.mark.parametrize("name", NEW)
def test_modules_without_flags_refuse_unknown_names_too(name: str) -> None:
    module: Any = NEW[name]
    assert sys.modules[f"interlock.backends.{name}"] is module
    for known in module.__all__:
        assert known in dir(module)
    near = {"cpu": "get_cpu_capability", "libraries": "Library"}.get(name, "is_available")
    typo = near.replace("va", "av").replace("ab", "ba").replace("ra", "ar")
    with pytest.raises(AttributeError, match=near):
        setattr(module, typo, True)
    assert not hasattr(module, typo)


def test_misspelt_name_of_mkl_is_refused_with_a_suggestion() -> None:
    module: Any = backends.mkl
    with pytest.raises(AttributeError, match=r"\bverbose\b"):
        module.verbos = 1
