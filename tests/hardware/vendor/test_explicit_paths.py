"""A user-supplied path is that library or an error; there is no fallback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hardware.vendor.expected_packages import LIBRARIES, PREFIX
from tests.hardware.vendor.programs import answer, answer_of

# The offset of `e_machine` in an ELF header, and the number of an unused machine.
MACHINE, NO_MACHINE = 18, b"\xff\x7f"


def text_file(folder: Path) -> Path:
    """Return a file with the right name that is no library."""
    file = folder / "libdnnl.so.3"
    file.write_text("oneDNN\n")
    return file


def missing_file(folder: Path) -> Path:
    """Return a path that does not exist."""
    return folder / "libdnnl.so.3"


def folder_without_it(folder: Path) -> Path:
    """Return a folder that has other libraries."""
    (folder / "libiomp5.so").symlink_to(PREFIX / "libiomp5.so")
    return folder


def other_library(folder: Path) -> Path:
    """Return another library under the right name."""
    file = folder / "libdnnl.so.3"
    file.symlink_to(LIBRARIES["cudnn"].file)
    return file


def other_machine(folder: Path) -> Path:
    """Return the library with the header of another machine."""
    file = folder / "libdnnl.so.3"
    program = bytearray(LIBRARIES["onednn"].file.read_bytes())
    program[MACHINE : MACHINE + 2] = NO_MACHINE
    file.write_bytes(program)
    return file


Given = Callable[[Path], Path]
USELESS = pytest.mark.parametrize(
    "given", [text_file, missing_file, folder_without_it, other_library, other_machine]
)
ABSENT = pytest.mark.parametrize("given", [missing_file, folder_without_it])


@USELESS
def test_load_from_a_variable_names_path_and_variable(given: Given, tmp_path: Path) -> None:
    path = given(tmp_path)
    env = {"INTERLOCK_ONEDNN_PATH": str(path)}
    refusals, loaded = answer_of("libraries.load_onednn_that_is_refused", env=env)
    for error, message in refusals:
        assert error == "LibraryPathError"
        assert str(path) in message
        assert "INTERLOCK_ONEDNN_PATH" in message
    assert loaded == []


@USELESS
def test_load_from_an_argument_names_the_path(given: Given, tmp_path: Path) -> None:
    path = given(tmp_path)
    error, message, loaded = answer_of("libraries.load_onednn_from_a_path_that_is_refused", str(path))
    assert error == "LibraryPathError"
    assert str(path) in message
    assert loaded == []


@ABSENT
def test_find_of_a_missing_path_names_path_and_variable(given: Given, tmp_path: Path) -> None:
    path = given(tmp_path)
    code = """
        from interlock import backends
        from interlock.backends import libraries
        result = [[refused(libraries.find, "onednn"), refused(backends.mkldnn.is_available)], vendors()]
    """
    refusals, loaded = answer(code, {"INTERLOCK_ONEDNN_PATH": str(path)})
    for error, message in refusals:
        assert error == "LibraryPathError"
        assert str(path) in message
        assert "INTERLOCK_ONEDNN_PATH" in message
    assert loaded == []


@USELESS
def test_version_is_refused_for_an_unusable_path_of_a_variable(given: Given, tmp_path: Path) -> None:
    path = given(tmp_path)
    env = {"INTERLOCK_CUSPARSELT_PATH": str(path)}
    code = """
        from interlock.backends import cusparselt
        refusals = [refused(cusparselt.version), refused(cusparselt.get_max_alg_id)]
        result = [refusals, [file for file in vendors() if "libcusparseLt" in file]]
    """
    refusals, loaded = answer(code, env)
    for error, message in refusals:
        assert error == "LibraryPathError"
        assert str(path) in message
        assert "INTERLOCK_CUSPARSELT_PATH" in message
    assert loaded == []


def test_load_of_another_path_is_refused_and_the_library_stays() -> None:
    other = PREFIX / "libdnnl.so.3.2"
    code = f"""
        from interlock.backends import libraries
        before = libraries.load("onednn")
        error, message = refused(libraries.load, "onednn", {str(other)!r})
        result = [error, message, libraries.find("onednn") == before]
    """
    error, message, stays = answer(code)
    assert error == "LibraryPathError"
    assert str(other) in message
    assert str(LIBRARIES["onednn"].file) in message
    assert stays
