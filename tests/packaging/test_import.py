"""The costs of `import interlock`: modules, vendor libraries, memory and time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from benchmarks import startup
from tests.helpers import fake_libraries
from tests.helpers.subprocess import child_environment, eval_python, run_command
from tests.unit.backends.library_cases import LIBRARIES

IMPORT = "import interlock"
USE = startup.NAMESPACES

# The modules that interlock imports directly.
ALLOWED = {
    IMPORT: "__future__ _thread atexit gc os sys warnings",
    USE: """
        __future__ _thread atexit collections collections.abc contextlib enum functools gc importlib
        os sys types typing warnings
    """,
}
if sys.version_info >= (3, 14):
    # `typing` imports it to create a NamedTuple, whose annotations are strings or evaluated lazily (PEP 649).
    ALLOWED[USE] += " annotationlib"

# Modules of interlock that are loaded only by an explicit import or at their first use.
NOT_OF_NAMESPACES = (
    "interlock.__main__",
    "interlock._cli",
    "interlock._console",
    "interlock._launcher",
    "interlock._suggest",
    "interlock.aio",
    "interlock.backends._introspection",
    "interlock.backends.cuda",
    "interlock.backends.cudnn",
    "interlock.backends.libraries",
    "interlock.backends.xeon",
    "interlock.integrations",
    "interlock.fft",
    "interlock.linalg",
    "interlock.nn",
    "interlock.return_types",
    "interlock.settings",
    "interlock.testing",
    "interlock.threads",
    "interlock.utils.checkpoint",
)
# The namespaces themselves, too.
NOT_OF_PACKAGE = (
    *NOT_OF_NAMESPACES,
    "interlock.accelerator",
    "interlock.autograd",
    "interlock.backends",
    "interlock.dispatch",
    "interlock.state",
    "interlock.utils",
)
LAZY = {IMPORT: NOT_OF_PACKAGE, USE: NOT_OF_NAMESPACES}

INSTALLED = sysconfig.get_path("platlib")
PRINT_MODULES = "print(*sorted(sys.modules), sep='\\n')"
INTERPRETERS = {"bare": ("-I", "-S"), "isolated": ("-I",), "plain": ()}


def modules_after(statements: str, options: tuple[str, ...]) -> set[str]:
    """Return the loaded modules of an interpreter after these statements."""
    code = f"import sys; sys.path.append({INSTALLED!r})\n{statements}\n{PRINT_MODULES}"
    done = run_command([sys.executable, *options, "-c", code])
    assert done.code == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("statements", ALLOWED, ids=["import", "use"])
@pytest.mark.parametrize("options", INTERPRETERS.values(), ids=INTERPRETERS)
def test_import_loads_only_modules_of_the_list(options: tuple[str, ...], statements: str) -> None:
    allowed = "\n".join(f"import {name}" for name in ALLOWED[statements].split())
    known = modules_after(allowed, options)
    loaded = modules_after(statements, options)
    assert "interlock._core" in loaded
    new = {name for name in loaded - known if name.partition(".")[0] != "interlock"}
    assert new == set(), "interlock loads modules that are not in the list"


@pytest.mark.parametrize("statements", ALLOWED, ids=["import", "use"])
def test_list_contains_only_loaded_modules(statements: str) -> None:
    loaded = modules_after(statements, ("-I", "-S"))
    assert set(ALLOWED[statements].split()) - loaded == set()


@pytest.mark.parametrize("options", INTERPRETERS.values(), ids=INTERPRETERS)
def test_list_contains_no_module_that_is_slow_to_load(options: tuple[str, ...]) -> None:
    slow = {
        "argparse",
        "asyncio",
        "ctypes",
        "dataclasses",
        "inspect",
        "json",
        "logging",
        "numpy",
        "subprocess",
    }
    assert modules_after(USE, options) & slow == set()


@pytest.mark.parametrize("statements", LAZY, ids=["import", "use"])
def test_import_leaves_out_what_is_loaded_at_its_first_use(statements: str) -> None:
    loaded = modules_after(statements, ())
    assert {name for name in loaded if name.startswith(LAZY[statements])} == set()


@pytest.mark.parametrize("path", ["aio", "backends", "backends.cudnn", "settings", "state"])
def test_modules_imported_on_first_use_need_no_import_statement(path: str) -> None:
    loaded = modules_after(f"import interlock; assert interlock.{path}.__all__", ())
    assert f"interlock.{path}" in loaded
    parent, _, name = f"interlock.{path}".rpartition(".")
    listed = eval_python(f"import interlock\nresult = {name!r} in dir({parent})")
    assert listed


@fake_libraries.NEEDS_COMPILER
def test_import_maps_no_vendor_library_although_all_are_installed(tmp_path: Path) -> None:
    for soname in (*(row.soname for row in LIBRARIES.values()), "libcuda.so.1"):
        fake_libraries.build(tmp_path, soname, fake_libraries.EMPTY_LIBRARY)
    given = {f"INTERLOCK_{name.upper()}_PATH": str(tmp_path) for name in LIBRARIES}
    code = """
        import interlock
        maps = open("/proc/self/maps").read()
        from interlock.backends import libraries
        result = [maps, {name: libraries.find(name).path for name in libraries.NAMES}]
    """
    maps, found = eval_python(code, env=fake_libraries.environment(tmp_path, **given))
    assert found == {name: str(tmp_path / row.soname) for name, row in LIBRARIES.items()}
    assert "interlock/_core" in maps
    assert str(tmp_path) not in maps


# The budget of a release, which `--full` tests. A build without optimization maps up to twice the code and
# initializes it more slowly.
MEGABYTES = 15.0
MEGABYTES_WITHOUT_OPTIMIZATION = 30.0
# Times the start of bare Python, because machines differ in speed; the benchmark has the times.
STARTS = {IMPORT: 1.0, USE: 3.0}
WITHOUT_OPTIMIZATION = 5 / 3
# Enough for a slow phase of a shared machine; most runs need three.
ROUNDS = 200


def copy_out_of_the_page_cache(folder: Path) -> None:
    """Copy the package into `folder` and evict it from the page cache.

    Linux caches a file that was just written in large folios, and a page fault then maps more of it.
    """
    shutil.copytree(Path(INSTALLED) / "interlock", folder / "interlock")
    for path in (folder / "interlock").glob("*.so"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.timing
def test_import_stays_within_its_budget_of_memory(tmp_path: Path, full: bool) -> None:
    copy_out_of_the_page_cache(tmp_path)
    find = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    check = f"assert interlock.__file__.startswith({str(tmp_path)!r})\n"
    bare = float(startup.run(sys.executable, find + startup.PEAK))
    imported = float(startup.run(sys.executable, f"{find}{USE}\n{check}{startup.PEAK}"))
    assert (imported - bare) / 1e6 <= (MEGABYTES if full else MEGABYTES_WITHOUT_OPTIMIZATION)


@pytest.mark.timing
@pytest.mark.parametrize("statements", STARTS, ids=["import", "use"])
def test_import_stays_within_its_budget_of_time(full: bool, statements: str) -> None:
    # The minimum CPU time of several runs, which other load affects least.
    allowed = STARTS[statements] * (1 if full else WITHOUT_OPTIMIZATION)
    bare, imported = [], []
    for _ in range(ROUNDS):
        bare.append(milliseconds("pass"))
        imported.append(milliseconds(statements))
        if len(imported) > 2 and min(imported) / min(bare) - 1 <= allowed:
            return
    pytest.fail(f"{min(imported) / min(bare) - 1:.1f} times the start of Python, {allowed:.1f} are allowed")


def milliseconds(code: str) -> float:
    """Return the CPU time of a process that runs this code, from start to exit."""
    process = subprocess.Popen([sys.executable, "-I", "-c", code], env=child_environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return (usage.ru_utime + usage.ru_stime) * 1e3
