"""The search for a vendor library: folders, order and user-supplied paths."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest
from interlock import errors
from interlock.backends import libraries

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program, run_program
from tests.unit.backends.library_cases import LIBRARIES, Row

EACH = pytest.mark.parametrize(("name", "row"), LIBRARIES.items(), ids=LIBRARIES)


# The wheel of numpy brings an OpenBLAS.
WITHOUT_PACKAGES = "sys.path[:] = [folder for folder in sys.path if 'site-packages' not in folder]"


def result_of(code: str, env: dict[str, str]) -> Any:
    """Return the value of `result` after the code."""
    return eval_program("backends.libraries.run", textwrap.dedent(code), env=env)


def test_table_has_every_library() -> None:
    assert tuple(LIBRARIES) == libraries.NAMES


def test_page_lists_every_library() -> None:
    page = (Path(__file__).parents[3] / "docs" / "libraries.md").read_text()
    table = page.partition("## Search order")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")][2:]
    names = [name.strip() for row in rows for name in row[0].split(",")]
    assert sorted(names) == sorted(libraries.NAMES)
    text = " ".join(row[1] for row in rows)
    assert [row.title for row in LIBRARIES.values() if row.title not in text] == []


@EACH
def test_title_is_returned_without_loading_the_library(name: str, row: Row) -> None:
    found = libraries.find(name)
    assert (found.name, found.title) == (name, row.title)
    assert (found.path is None) == (found.source is None)
    assert found.version is None or found.is_loaded
    json.dumps(found)


def test_unknown_library_is_refused_with_a_suggestion() -> None:
    with pytest.raises(errors.UnknownLibraryError, match=r"did you mean \"cudnn\""):
        libraries.find("cudn")
    with pytest.raises(ValueError, match=r"known: cublas, .*openmp"):
        libraries.load("zzz")


@fake_libraries.NEEDS_COMPILER
@EACH
def test_library_is_found_then_loaded_and_reports_its_version(name: str, row: Row, tmp_path: Path) -> None:
    path = str(fake_libraries.build(tmp_path, row.soname, row.source))
    code = f"""
    {WITHOUT_PACKAGES}
    found, mapped = state_of(libraries.find({name!r})), is_mapped({path!r})
    loaded, again = state_of(libraries.load({name!r})), state_of(libraries.find({name!r}))
    result = [found, mapped, loaded, again, is_mapped({path!r})]
    """
    found, was_mapped, loaded, again, is_mapped = result_of(code, fake_libraries.environment(tmp_path))
    assert (found, was_mapped) == ([path, "environment", False, None], False)
    assert loaded == again == [path, "environment", True, row.version]
    assert is_mapped


IN_WHEELS = [(name, row, folder) for name, row in LIBRARIES.items() for folder in row.folders]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize(
    ("name", "row", "folder"), IN_WHEELS, ids=[f"{each[0]}-{each[2]}" for each in IN_WHEELS]
)
def test_library_is_found_among_packages(name: str, row: Row, folder: str, tmp_path: Path) -> None:
    path = str(fake_libraries.build(tmp_path / folder, row.soname, row.source))
    code = f"sys.path.insert(0, {str(tmp_path)!r})\n    result = state_of(libraries.load({name!r}))"
    assert result_of("    " + code, fake_libraries.environment()) == [path, "packages", True, row.version]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("name", ["mkl", "onednn", "openblas", "openmp"])
@pytest.mark.parametrize("where", ["prefix", "path"])
def test_library_in_the_prefix_of_the_installation_is_found(name: str, where: str, tmp_path: Path) -> None:
    row = LIBRARIES[name]
    path = str(fake_libraries.build(tmp_path / "lib", row.soname, row.source))
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    tell = f"sys.prefix = {str(tmp_path)!r}" if where == "prefix" else f"sys.path.append({str(packages)!r})"
    code = f"{WITHOUT_PACKAGES}\n    {tell}\n    result = state_of(libraries.load({name!r}))[:3]"
    assert result_of("    " + code, fake_libraries.environment()) == [path, "packages", True]


@fake_libraries.NEEDS_COMPILER
def test_search_order_is_path_loaded_packages_environment(
    tmp_path: Path,
) -> None:
    places = {"explicit": "", "loaded": "", "packages": "nvidia/cudnn/lib", "environment": ""}
    files = {
        place: fake_libraries.build(
            tmp_path / place / below, "libcudnn.so.9", fake_libraries.CUDNN % (90_000 + number * 100)
        )
        for number, (place, below) in enumerate(places.items(), 1)
    }
    packages = f"sys.path.append({str(tmp_path / 'packages')!r})\n"
    load = f"ctypes.CDLL({str(files['loaded'])!r})\n"
    query = "result = state_of(libraries.find('cudnn'))[:2], state_of(libraries.load('cudnn'))"
    env = fake_libraries.environment(tmp_path / "environment")
    given = env | {"INTERLOCK_CUDNN_PATH": str(files["explicit"])}
    for number, (place, before, variables) in enumerate(
        [
            ("explicit", packages + "    " + load, given),
            ("loaded", packages + "    " + load, env),
            ("packages", packages, env),
            ("environment", "\n", env),
        ],
        1,
    ):
        found, loaded = result_of(f"    {before}    {query}", variables)
        assert found == [str(files[place]), place]
        assert loaded == [str(files[place]), place, True, f"9.{number}.0"]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("kind", ["file", "folder", "relative", "link", "another name"])
def test_path_may_name_the_file_or_its_folder(kind: str, tmp_path: Path) -> None:
    file = fake_libraries.build(tmp_path / "explicit", "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "renamed.so").write_bytes(file.read_bytes())
    paths = {
        "file": str(file),
        "folder": str(file.parent),
        "relative": "explicit/libcudnn.so.9",
        "link": str(tmp_path / "link"),
        "another name": str(tmp_path / "renamed.so"),
    }
    code = f"""
    import os
    os.chdir({str(tmp_path)!r})
    from interlock.backends import cudnn
    result = [cudnn.is_available(), state_of(libraries.find("cudnn"))[1:3], cudnn.version()]
    """
    env = fake_libraries.environment(INTERLOCK_CUDNN_PATH=paths[kind])
    assert result_of(code, env) == [True, ["explicit", False], 92_800]


@pytest.fixture
def wrong_paths(tmp_path: Path) -> dict[str, str]:
    """Return paths without cuDNN."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("not a library")
    other = fake_libraries.build(tmp_path, "libother.so.1", fake_libraries.EMPTY_LIBRARY)
    part = fake_libraries.build(tmp_path, "libcudnn_graph.so.9", fake_libraries.CUDNN % 92_800)
    wrapper = fake_libraries.build(tmp_path, "libwrapper.so.1", fake_libraries.EMPTY_LIBRARY, needs=part)
    paths = ("missing/libcudnn.so.9", "empty", "text", other.name, wrapper.name)
    return {path.split("/")[0]: str(tmp_path / path) for path in paths}


#: Paths that only loading refuses.
LATE = ("text", "libother.so.1", "libwrapper.so.1")


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("wrong", ["missing", "empty", *LATE])
def test_unusable_path_raises_without_a_fallback(
    wrong: str, wrong_paths: dict[str, str], tmp_path: Path
) -> None:
    good = fake_libraries.build(tmp_path / "good", "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    code = f"""
    from interlock.backends import cudnn
    calls = [(cudnn.version,), (libraries.load, "cudnn"), (cudnn.is_available,), (libraries.find, "cudnn")]
    result = [[refused(*call) for call in calls], is_mapped({str(good)!r})]
    """
    env = fake_libraries.environment(good.parent, INTERLOCK_CUDNN_PATH=wrong_paths[wrong])
    refusals, is_mapped = result_of(code, env)
    assert not is_mapped
    for refusal in refusals if wrong not in LATE else refusals[:2]:
        kind, message = refusal
        assert kind == "LibraryPathError"
        for part in ("INTERLOCK_CUDNN_PATH", wrong_paths[wrong], "cuDNN"):
            assert part in message
    if wrong in LATE:
        assert refusals[2:] == [None, None]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize("wrong", ["missing", "empty", *LATE])
def test_unusable_path_argument_raises_and_changes_nothing(
    wrong: str, wrong_paths: dict[str, str], tmp_path: Path
) -> None:
    good = fake_libraries.build(tmp_path / "good", "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    code = f"""
    refusal = refused(libraries.load, "cudnn", {wrong_paths[wrong]!r})
    result = [refusal, is_mapped({str(good)!r}), state_of(libraries.load("cudnn"))[1:]]
    """
    (kind, message), is_mapped, after = result_of(code, fake_libraries.environment(good.parent))
    assert kind == "LibraryPathError"
    assert wrong_paths[wrong] in message
    assert not is_mapped
    assert after == ["environment", True, "9.28.0"]


@fake_libraries.NEEDS_COMPILER
@pytest.mark.parametrize(("module", "row"), [("mkl", "mkl"), ("mkldnn", "onednn")])
def test_wrong_path_is_an_error_of_a_scope_that_needs_the_library(
    module: str, row: str, tmp_path: Path
) -> None:
    fake_libraries.build(tmp_path, LIBRARIES[row].soname, LIBRARIES[row].source)
    variable = f"INTERLOCK_{row.upper()}_PATH"
    code = f"""
    from interlock.backends import {module} as m
    result = [refused(m.verbose(1).__enter__), refused(m.is_available)]
    """
    for kind, message in result_of(
        code, fake_libraries.environment(tmp_path, **{variable: "/nowhere/at/all"})
    ):
        assert kind == "LibraryPathError"
        assert variable in message
        assert "/nowhere/at/all" in message


@fake_libraries.NEEDS_COMPILER
def test_path_argument_overrides_the_variable_and_empty_means_unset(
    tmp_path: Path,
) -> None:
    one = fake_libraries.build(tmp_path / "one", "libcudnn.so.9", fake_libraries.CUDNN % 90_100)
    two = fake_libraries.build(tmp_path / "two", "libcudnn.so.9", fake_libraries.CUDNN % 90_200)
    load = f"    result = state_of(libraries.load('cudnn', {str(two)!r}))[1:]"
    env = fake_libraries.environment(one.parent)
    assert result_of(load, env | {"INTERLOCK_CUDNN_PATH": str(one)}) == ["explicit", True, "9.2.0"]
    find = "    result = state_of(libraries.find('cudnn'))[:2]"
    assert result_of(find, env | {"INTERLOCK_CUDNN_PATH": ""}) == [str(one), "environment"]


@fake_libraries.NEEDS_COMPILER
def test_loaded_library_stays_and_another_path_is_refused(tmp_path: Path) -> None:
    one = fake_libraries.build(tmp_path / "one", "libcudnn.so.9", fake_libraries.CUDNN % 90_100)
    two = fake_libraries.build(tmp_path / "two", "libcudnn.so.9", fake_libraries.CUDNN % 90_200)
    (tmp_path / "link").symlink_to(one)
    paths = str(one), str(tmp_path / "link"), str(two)
    answer = eval_program("backends.libraries.load_another_path", *paths, env=fake_libraries.environment())
    same, by_link, (kind, message), still = answer
    assert [same, by_link, still] == [True, True, True]
    assert kind == "LibraryPathError"
    assert f"loaded from {one} already" in message


def test_path_variables_are_known_and_a_misspelt_one_warns() -> None:
    program = "backends.imports.import_warnings"
    variables = {f"INTERLOCK_{name.upper()}_PATH": "/nowhere" for name in libraries.NAMES}
    assert eval_program(program, env=variables) == []
    (message,) = eval_program(program, env={"INTERLOCK_CUDN_PATH": "/nowhere"})
    assert "INTERLOCK_CUDNN_PATH" in message


@fake_libraries.NEEDS_COMPILER
def test_find_calls_no_function_of_an_mkl_loaded_by_other_code(tmp_path: Path) -> None:
    path = fake_libraries.build(tmp_path, "libmkl_rt.so.3", fake_libraries.MKL)
    done = run_program("backends.libraries.of_a_loaded_mkl", str(path), env=fake_libraries.environment())
    assert done.stdout.splitlines()[:2] == [
        "[<Source.LOADED: 'loaded'>, True, None]",
        "version query",
    ]
    assert done.stdout.endswith("[<Source.LOADED: 'loaded'>, True, '2026.2']\n")


def test_other_types_are_refused_as_paths() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError):
        libraries.load("cudnn", wrong)
    with pytest.raises(TypeError):
        libraries.find(wrong)


@fake_libraries.NEEDS_COMPILER
def test_path_may_be_undecodable_bytes(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    fake_libraries.build(Path(folder), "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    code = """
    import os
    found = libraries.find("cudnn")
    result = [os.fsencode(found.path).endswith(b"/\\xff/libcudnn.so.9"), found.source]
    """
    assert result_of(code, fake_libraries.environment(INTERLOCK_CUDNN_PATH=folder)) == [True, "explicit"]


@fake_libraries.NEEDS_COMPILER
def test_load_by_two_threads_returns_one_file_and_unloads_none(tmp_path: Path) -> None:
    source = (
        fake_libraries.CUDNN % 92_800
        + """
    #include <stdio.h>
    #include <unistd.h>
    __attribute__((constructor)) static void slowly(void) { usleep(100000); }
    __attribute__((destructor)) static void report_unload(void) { puts("unloaded"); fflush(stdout); }
    """
    )
    one = fake_libraries.build(tmp_path / "one", "libcudnn.so.9", source)
    two = fake_libraries.build(tmp_path / "two", "libcudnn.so.9", source)
    program = "backends.libraries.load_two_files_at_once"
    done = run_program(program, str(one), str(two), env=fake_libraries.environment())
    assert (done.code, done.stdout) == (0, "[False, True] 9.28.0\n")


@fake_libraries.NEEDS_COMPILER
def test_path_is_distinct_from_a_loaded_file_of_equal_name(tmp_path: Path) -> None:
    given = fake_libraries.build(tmp_path / "explicit", "libgomp.so.1", fake_libraries.OPENMP % 3)
    other = fake_libraries.build(tmp_path / "other", "libgomp.so.1", fake_libraries.OPENMP % 4)
    code = """
    before = state_of(libraries.find("openmp"))
    ctypes.CDLL({!r})
    result = [before, state_of(libraries.find("openmp"))]
    """
    env = fake_libraries.environment(INTERLOCK_OPENMP_PATH=str(given))
    not_loaded = [str(given), "explicit", False, None]
    assert result_of(code.format(str(other)), env) == [not_loaded, not_loaded]
    assert result_of(code.format(str(given)), env) == [not_loaded, [str(given), "explicit", True, None]]


@fake_libraries.NEEDS_COMPILER
def test_environment_is_read_without_a_race_with_python_threads(tmp_path: Path, full: bool) -> None:
    """Such a race could only crash: the environment is read from a copy, so a change has no effect."""
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    program = "backends.libraries.while_the_environment_changes"
    searches = 2000 if full else 200
    found = eval_program(program, searches, env=fake_libraries.environment(tmp_path))
    assert found == ["environment"]
