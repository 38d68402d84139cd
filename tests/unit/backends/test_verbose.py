"""Scopes in which MKL and oneDNN report their calls, with fakes that print the level."""

from __future__ import annotations

import copy
import pickle
import textwrap
from pathlib import Path
from typing import Any

import pytest
from interlock import backends, errors

from tests.helpers import fake_libraries
from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, run_program

MKL = ("mkl", "libmkl_rt.so.2", fake_libraries.MKL)
MKLDNN = ("mkldnn", "libdnnl.so.3", fake_libraries.ONEDNN)
BOTH = pytest.mark.parametrize(("module", "soname", "source"), [MKL, MKLDNN], ids=["mkl", "mkldnn"])
MODULES = pytest.mark.parametrize("module", [backends.mkl, backends.mkldnn], ids=["mkl", "mkldnn"])


def levels_of_code(code: str, env: dict[str, str], module: str = "mkldnn") -> list[int]:
    """Return the levels that the fake received while `code` ran."""
    return levels_of("run", env, module, textwrap.dedent(code))


def levels_of(program: str, env: dict[str, str], module: str = "mkldnn", *arguments: str) -> list[int]:
    """Return the levels that the fake received while a program ran."""
    done = run_program(f"backends.verbose.{program}", module, *arguments, env=env)
    assert done.code == 0, done.stderr
    return [int(line.removeprefix("level ")) for line in done.stdout.splitlines()]


@pytest.fixture
def onednn(tmp_path: Path) -> dict[str, str]:
    fake_libraries.build(tmp_path, MKLDNN[1], MKLDNN[2])
    return fake_libraries.environment(tmp_path, ONEDNN_VERBOSE="", DNNL_VERBOSE="")


@fake_libraries.NEEDS_COMPILER
@BOTH
def test_scope_sets_and_restores_the_level(module: str, soname: str, source: str, tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, soname, source)
    env = fake_libraries.environment(tmp_path, MKL_VERBOSE="0", ONEDNN_VERBOSE="0")
    code = """
        with m.verbose(m.VERBOSE_ON) as scope:
            assert type(scope) is m.verbose
            print("level 7", flush=True)
    """
    assert levels_of_code(code, env, module) == [1, 7, 0]
    assert levels_of_code("with m.verbose(True): pass", env, module) == [1, 0]


@fake_libraries.NEEDS_COMPILER
@BOTH
def test_level_of_the_environment_is_restored(module: str, soname: str, source: str, tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, soname, source)
    for variable in ("MKL_VERBOSE",) if module == "mkl" else ("ONEDNN_VERBOSE", "DNNL_VERBOSE"):
        env = fake_libraries.environment(tmp_path, **{variable: "1"})
        assert levels_of_code("with m.verbose(m.VERBOSE_ON): pass", env, module) == [1, 1]


@fake_libraries.NEEDS_COMPILER
def test_onednn_variable_overrides_its_deprecated_name(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, MKLDNN[1], MKLDNN[2])
    env = fake_libraries.environment(tmp_path, ONEDNN_VERBOSE="2", DNNL_VERBOSE="1")
    assert levels_of_code("with m.verbose(1): pass", env) == [1, 2]


@fake_libraries.NEEDS_COMPILER
def test_nested_scopes_restore_the_outer_level(onednn: dict[str, str]) -> None:
    code = """
        with m.verbose(m.VERBOSE_ON_CREATION):
            with m.verbose(m.VERBOSE_ON):
                pass
    """
    assert levels_of_code(code, onednn) == [2, 1, 2, 0]


@fake_libraries.NEEDS_COMPILER
def test_scopes_exited_out_of_order_restore_the_previous_level(onednn: dict[str, str]) -> None:
    code = """
        first, second = m.verbose(1), m.verbose(2)
        first.__enter__(), second.__enter__()
        first.__exit__(None, None, None), second.__exit__(None, None, None)
    """
    assert levels_of_code(code, onednn) == [1, 2, 2, 0]


@fake_libraries.NEEDS_COMPILER
def test_scope_entered_twice_can_be_exited_twice_only(onednn: dict[str, str]) -> None:
    assert levels_of("scope_entered_twice", onednn) == [1, 1, 1, 0]


@fake_libraries.NEEDS_COMPILER
def test_scope_ends_with_an_exception_which_propagates(onednn: dict[str, str]) -> None:
    assert levels_of("scope_with_an_exception", onednn) == [1, 0]


@fake_libraries.NEEDS_COMPILER
def test_overlapping_scopes_of_two_threads_restore_the_level(onednn: dict[str, str]) -> None:
    assert levels_of("scopes_of_two_threads", onednn) == [1, 2, 2, 0]


@fake_libraries.NEEDS_COMPILER
def test_scopes_of_many_threads_restore_the_level(onednn: dict[str, str]) -> None:
    assert levels_of("scopes_of_many_threads", onednn)[-1] == 0


@fake_libraries.NEEDS_COMPILER
def test_forked_child_drops_scopes_of_other_threads(onednn: dict[str, str]) -> None:
    assert levels_of("scopes_and_a_fork", onednn) == [2, 1, 0, 0]


@fake_libraries.NEEDS_COMPILER
@BOTH
def test_off_does_nothing_and_loads_nothing(module: str, soname: str, source: str, tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, soname, source)
    code = f"""
        with m.verbose(m.VERBOSE_OFF), m.verbose(False):
            pass
        assert {str(tmp_path)!r} not in open("/proc/self/maps").read()
    """
    assert levels_of_code(code, fake_libraries.environment(tmp_path), module) == []


@MODULES
def test_off_needs_no_library(module: Any) -> None:
    with module.verbose(module.VERBOSE_OFF):
        pass


@fake_libraries.NEEDS_COMPILER
@BOTH
def test_library_without_the_function_is_not_available(
    module: str, soname: str, source: str, tmp_path: Path
) -> None:
    fake_libraries.build(tmp_path, soname, fake_libraries.EMPTY_LIBRARY)
    once, again = eval_program(
        "backends.verbose.without_the_function", module, env=fake_libraries.environment(tmp_path)
    )
    assert once == again
    assert once[:2] == ["LibraryNotFoundError", True]
    assert f"backends.{module}.verbose" in once[2]


@MODULES
def test_enter_without_the_library_names_the_search(module: Any) -> None:
    if module.is_available():
        pytest.skip("the library is installed here")
    with pytest.raises(errors.LibraryNotFoundError, match=r"lib(mkl_rt|dnnl).*CONDA_PREFIX"):
        module.verbose(module.VERBOSE_ON).__enter__()


@fake_libraries.NEEDS_COMPILER
def test_level_refused_by_the_library_enters_no_scope(tmp_path: Path) -> None:
    refusing = fake_libraries.ONEDNN.replace("level >= 0 && level <= 2", "level != 2")
    fake_libraries.build(tmp_path, MKLDNN[1], refusing)
    assert levels_of(
        "level_refused_by_the_library", fake_libraries.environment(tmp_path, ONEDNN_VERBOSE="0")
    ) == [1, 2, 1, 0]


@MODULES
@pytest.mark.parametrize("level", [-1, 3, 7, 1 << 40, 1 << 80, -(1 << 80)], ids=stable_repr)
def test_unsupported_level_is_refused_by_the_constructor(module: Any, level: int) -> None:
    with pytest.raises(errors.FlagValueError, match=r"VERBOSE_OFF.*VERBOSE_ON"):
        module.verbose(level)


@MODULES
@pytest.mark.parametrize("level", ["1", 1.0, None, [], b"1"], ids=stable_repr)
def test_invalid_level_is_refused_by_the_constructor(module: Any, level: object) -> None:
    with pytest.raises(errors.FlagTypeError, match=r"VERBOSE_OFF.*VERBOSE_ON"):
        module.verbose(level)


def test_mkl_has_one_level_fewer_than_onednn() -> None:
    assert (backends.mkl.VERBOSE_OFF, backends.mkl.VERBOSE_ON) == (0, 1)
    names = (backends.mkldnn.VERBOSE_OFF, backends.mkldnn.VERBOSE_ON, backends.mkldnn.VERBOSE_ON_CREATION)
    assert names == (0, 1, 2)
    assert backends.mkldnn.verbose(level=2).level == 2
    assert backends.mkl.verbose(enable=1).enable == 1
    with pytest.raises(errors.FlagValueError):
        backends.mkl.verbose(2)


@MODULES
def test_copy_is_an_independent_scope(module: Any) -> None:
    scope = module.verbose(module.VERBOSE_ON)
    for copied in (copy.copy(scope), copy.deepcopy(scope), pickle.loads(pickle.dumps(scope))):
        assert type(copied) is type(scope)
        assert vars(copied).keys() == vars(scope).keys()
