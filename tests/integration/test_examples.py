"""The examples of all pages and of the docstrings run and print their output.

A block of Python runs. A block of text below it is what it prints. The commands of a console block print the
lines that follow them; a Python block of the page that begins with a comment such as `# train.py` is a file
of that name for them. Rust's documentation tests run the blocks of Rust. A comment in the line above marks a
block that does not run: `<!-- from: FILE -->` is a part of a file that other tests run, and
`<!-- not run: REASON -->` is compiled only.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
import types
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

import interlock
import pytest
from interlock import _core

from tests.helpers.subprocess import (
    SHOWN_WHOLE_BY_PYTEST,
    TIMEOUT_SECONDS,
    child_environment,
    eval_program,
    run_python,
)

pytestmark = pytest.mark.any_build
ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
MARKER = r"(?:^<!-- (from|not run): ([^\n]+) -->\n)?"
BLOCK = re.compile(MARKER + r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The first line of a block that the other blocks of its page use as a file.
FILE = re.compile(r"# (\w+\.py)\n")
# The tests that run the commands of a page, if this one does not.
COMMANDS_TESTED_BY = {
    "README.md": "tests/unit/settings/test_docs_settings.py",
    "beside_numpy_and_jax.md": "tests/unit/settings/test_docs_numpy_jax.py",
    "beside_torch.md": "tests/unit/settings/test_docs_settings.py",
    "dispatch.md": "tests/integration/embedding/test_dispatch.py",
    "driver.md": "tests/integration/embedding/test_host.py",
    "embedding.md": "tests/integration/embedding/test_host.py",
    "extensions.md": "tests/integration/extensions/test_docs_extensions.py",
    "races.md": "tests/unit/accelerator/races/test_reports.py",
    "launcher.md": "tests/unit/launcher/test_render.py",
    "memory_timeline.md": "tests/unit/cli/test_memory.py",
    "precision.md": "tests/integration/test_precision.py",
    "processes.md": "tests/integration/test_data_parallel.py",
    "command_line.md": "tests/unit/cli/test_docs_command_line.py",
    "settings.md": "tests/unit/settings/test_docs_settings.py",
    "thread_pools.md": "tests/unit/threads/test_docs_thread_pools.py",
}
# The page whose Python blocks another test runs.
PYTHON_TESTED_BY = {"differences.md": "tests/conformance/test_differences.py"}
# These blocks contain commands and settings of a user's system.
NOT_RUN = {"sh", "toml"}
# The test of the page builds the program.
BUILT = {"c"}
# Where the documentation says that its programs are.
FOLDER = "/home/ada/project"


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    number: int
    language: str
    text: str
    source: str | None
    """The file of which it is a part."""
    is_run: bool

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows."""
        found = FILE.match(self.text)
        return found and found[1]


def blocks_of(page: Path) -> list[Block]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        Block(page.name, number, language, text, detail if marker == "from" else None, not marker)
        for number, (marker, detail, language, text) in enumerate(found)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PYTHON = [block for block in BLOCKS if block.language == "python" and block.page not in PYTHON_TESTED_BY]
# The blocks that show what the block above them prints.
PRINTED = [(above, block) for above, block in pairwise(BLOCKS) if block.language == "text"]
COMMANDS = [block for block in BLOCKS if block.language == "console" and block.page not in COMMANDS_TESTED_BY]


def name_of(block: Block) -> str:
    return f"{block.page} {block.number}"


def modules() -> list[str]:
    """Return every importable module of the package and the modules of the extension, for its functions."""
    found = [each.name for each in pkgutil.walk_packages(interlock.__path__, "interlock.")]
    python = [name for name in found if not name.startswith("interlock._core")]
    extension = [each.__name__ for each in vars(_core).values() if isinstance(each, types.ModuleType)]
    return [interlock.__name__, *python, *extension]


def examples_of(module: types.ModuleType) -> list[doctest.DocTest]:
    # Some names of a module are imported lazily.
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
    return [each for each in doctest.DocTestFinder().find(module) if each.examples]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_has_a_language_that_is_tested(page: Path) -> None:
    blocks = blocks_of(page)
    assert len(FENCE.findall(page.read_text(encoding="utf-8"))) == 2 * len(blocks)
    assert {block.language for block in blocks} <= {"python", "rust", "text", "console", *NOT_RUN, *BUILT}
    for above, block in pairwise([None, *blocks]):
        assert block.language != "text" or (above is not None and above.language == "python")


@pytest.mark.parametrize("block", [block for block in PYTHON if block.is_run], ids=name_of)
def test_example_of_a_page_runs(block: Block, tmp_path: Path) -> None:
    folders = {"DASK_CONFIG": str(tmp_path), "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    done = run_python(block.text, env=folders, options=["-W", "error"])
    assert done.code == 0, f"{block.text}\n{done.stderr}"
    assert done.stderr == ""


@pytest.mark.parametrize("block", [block for block in PYTHON if not block.is_run], ids=name_of)
def test_example_that_is_not_run_compiles(block: Block) -> None:
    compile(block.text, name_of(block), "exec")


@pytest.mark.parametrize(("block", "printed"), PRINTED, ids=[name_of(block) for block, _ in PRINTED])
def test_example_of_a_page_prints_the_text_below_it(block: Block, printed: Block) -> None:
    assert run_python(block.text).stdout == printed.text


@pytest.mark.parametrize("block", COMMANDS, ids=name_of)
def test_commands_of_a_page_print_the_text_below_them(block: Block, tmp_path: Path) -> None:
    for other in BLOCKS:
        if other.page == block.page and other.file is not None:
            (tmp_path / other.file).write_text(other.text)
    shown = ""
    for line in block.text.splitlines(keepends=True):
        if line.startswith("$ "):
            shown += line + run_shown(line[2:], tmp_path)
    assert stable(shown) == stable(block.text)


def run_shown(command: str, folder: Path) -> str:
    """Run a command of a page, which may begin with assignments of variables, and return its output."""
    words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in takewhile(lambda word: "=" in word, words))
    assert words[len(variables)] == "python"
    # Without its configuration pytest-asyncio, which only tests use, warns.
    options = {"PYTHONUNBUFFERED": "1", "PYTEST_ADDOPTS": "-p no:asyncio"}
    environment = child_environment({**options, **variables})
    # Without them, the output of interlock is not wrapped, and that of pytest is cut at 80 columns.
    for variable in ("COLUMNS", *SHOWN_WHOLE_BY_PYTEST):
        environment.pop(variable, None)
    done = subprocess.run(
        [sys.executable, *words[len(variables) + 1 :]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return done.stdout.replace(str(folder), FOLDER)


def stable(printed: str) -> str:
    """Return an output without times and addresses, which differ from run to run."""
    return re.sub(r"\b0x[0-9a-f]+", "0x0", re.sub(r"\d+\.\d+s\b", "0.00s", printed))


@pytest.mark.parametrize(("page", "test"), (COMMANDS_TESTED_BY | PYTHON_TESTED_BY).items())
def test_test_that_runs_the_blocks_of_a_page_names_the_page(page: str, test: str) -> None:
    assert f'"{page}"' in (ROOT / test).read_text()


def test_every_page_with_rust_is_a_documentation_test() -> None:
    source = (ROOT / "tests/pages/lib.rs").read_text(encoding="utf-8")
    included = set(re.findall(r'include_str!\(".*/(\w+\.md)"\)', source))
    assert {block.page for block in BLOCKS if block.language == "rust" and block.is_run} == included


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.source], ids=name_of)
def test_block_from_a_file_is_a_part_of_it(block: Block) -> None:
    assert unindented(block.text) in unindented((ROOT / str(block.source)).read_text(encoding="utf-8"))


def unindented(text: str) -> str:
    return "".join(line.strip() + "\n" for line in text.splitlines())


def test_readme_shows_printed_output() -> None:
    assert "README.md" in {block.page for block, _ in PRINTED}


EXAMPLES = [example for name in modules() for example in examples_of(importlib.import_module(name))]


def test_some_docstrings_have_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("module", sorted({example.globs["__name__"] for example in EXAMPLES}))
def test_examples_of_the_docstrings_of_a_module_print_their_output(module: str) -> None:
    results = eval_program("integration.documentation.run_examples", module, seconds=300)
    assert results.keys() == {each.name for each in EXAMPLES if each.globs["__name__"] == module}
    assert not [
        (name, report, status)
        for name, (attempted, failed, report, status) in results.items()
        if attempted == 0 or failed > 0 or status != 0
    ]
