"""Write the files that are made from tables; with `--check`, fail when one is not current.

The table is asked of the installed extension module, so that there is one declaration of each flag. Between
two marking comments the rest of a file is left as it is.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from interlock._core import accelerator, backends

if TYPE_CHECKING:
    from interlock._core.backends import Flag

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "interlock" / "backends"
STUBS = ROOT / "stubs" / "interlock" / "_core"


FLAGS = backends.table()


def owner(flag: "Flag") -> str:
    """Return the module or object that has the flag, as a dotted name below `backends`."""
    return flag["name"].rpartition(".")[0]


def leaf(flag: "Flag") -> str:
    """Return the name that the flag has there."""
    return flag["name"].rpartition(".")[2]


def of(wanted: str) -> "list[Flag]":
    """Return the flags of one owner."""
    return [flag for flag in FLAGS if owner(flag) == wanted]


def sentence(flag: "Flag") -> str:
    """Return the documentation of a flag on one line."""
    return " ".join(flag["doc"].split())


def source_of(module: str) -> Path:
    """Return the file of a module below `backends`, which may be a package."""
    package = PACKAGE / module / "__init__.py"
    return package if package.exists() else PACKAGE / f"{module}.py"


def annotations(wanted: str) -> Iterator[str]:
    """Yield the annotations that tell type checkers of the flags of a module."""
    for flag in of(wanted):
        if flag["takes"] is not None:
            yield f"{leaf(flag)}: {flag['reads']}"
    # A type checker takes a value for what makes a name final; there is none in the module.
    read_only = [flag for flag in of(wanted) if flag["takes"] is None]
    if read_only:
        yield "if TYPE_CHECKING:"
    for flag in read_only:
        yield f"    {leaf(flag)}: Final[{flag['reads']}] = {flag['default']!r}"


def stub_attribute(flag: "Flag") -> Iterator[str]:
    """Yield the lines of a flag in the stub of its class."""
    name, reads, takes = leaf(flag), flag["reads"], flag["takes"]
    if reads == takes:
        yield f"    {name}: {reads}"
        return
    yield "    @property"
    yield f"    def {name}(self) -> {reads}: ..."
    if takes is not None:
        yield f"    @{name}.setter"
        yield f"    def {name}(self, value: {takes}, /) -> None: ..."


def class_name(wanted: str) -> str:
    """Return the name of an owner's class, without the ending that says what it is."""
    return "".join(word[:1].upper() + word[1:] for word in re.split("[._]", wanted or "backends"))


def class_stubs() -> Iterator[str]:
    """Yield the stubs of the classes that the extension module makes for modules and owners of flags."""
    owners = {class_name(wanted): wanted for wanted in {owner(flag) for flag in FLAGS}}
    for name in sorted(backends.__all__):
        for ending, base in (("Module", "(ModuleType)"), ("Flags", "")):
            if name.endswith(ending):
                flags = of(owners.get(name.removesuffix(ending), name))
                yield f"class {name}{base}:{'' if flags or base else ' ...'}"
                if base:
                    yield "    def __init__(self, m: ModuleType, name: str) -> None: ..."
                for flag in flags:
                    yield from stub_attribute(flag)
                yield ""
    yield f"__all__ = {sorted(backends.__all__)}"


def typed_dict() -> Iterator[str]:
    """Yield the module with the type of what `override` takes."""
    yield '"""The type of what `backends.override` takes. Made from the table of flags by `make generate`."""'
    yield ""
    yield "from typing import Literal, TypedDict"
    yield ""
    yield "Flags = TypedDict("
    yield '    "Flags",'
    yield "    {"
    for flag in FLAGS:
        if flag["takes"] is not None:
            yield f'        "{flag["name"]}": {flag["takes"]},'
    yield "    },"
    yield "    total=False,"
    yield ")"


def documentation() -> Iterator[str]:
    """Yield the page that lists every flag."""
    yield "# Flags"
    yield ""
    yield "The environment is read once, when `interlock.backends` is imported; a registered flag's variable"
    yield "when the flag is registered. In tests, `backends.override` and `unittest.mock.patch.object` leave"
    yield "a flag as it was; pytest's `monkeypatch` leaves the old value behind as an assigned one."
    yield ""
    yield "Made from the table of flags by `make generate`. Names are below `interlock.backends`."
    yield ""
    yield "`interlock.set_float32_matmul_precision` is an older name: `highest`, `high` and `medium` assign"
    yield "`ieee`, `tf32` and `tf32` to `cuda.matmul.fp32_precision`, and `ieee`, `tf32` and `bf16` to"
    yield "`mkldnn.matmul.fp32_precision`."
    for flag in FLAGS:
        yield ""
        yield f"## `{flag['name']}`"
        yield ""
        yield sentence(flag)
        yield ""
        yield f"- reads: `{flag['reads']}`"
        yield f"- accepts: `{flag['takes']}`" if flag["takes"] is not None else "- read-only"
        yield f"- default: `{flag['default']!r}`"
        if flag["variables"]:
            names = ", ".join(f"`{name}`" for name in flag["variables"])
            yield f"- environment: {names}"
        yield f"- affects: {flag['acts_on']}"


def differences() -> Iterator[str]:
    """Yield the page that lists where interlock departs from PyTorch."""
    yield "# Differences from PyTorch"
    yield ""
    yield "Where interlock departs from PyTorch on purpose. Made by `make generate`. ARCHITECTURE.md lists"
    yield 'further departures under "Departures from the design".'
    yield ""
    yield "## Behaviour"
    yield ""
    yield "Made from `docs/differences.json`."
    for difference in json.loads((ROOT / "docs" / "differences.json").read_text()):
        yield ""
        yield f"### {', '.join(f'`{name}`' for name in difference['names'])}"
        yield ""
        yield f"- PyTorch: {difference['pytorch']}"
        yield f"- interlock: {difference['interlock']}"
        yield f"- Reason: {difference['reason']}"
        yield f"- Test: `{difference['test']}`"
    yield ""
    yield "## Recorded cases"
    yield ""
    yield "Cases of `tests/conformance`, made from `tests/conformance/intentional_differences.json`."
    yield ""
    entries = json.loads((ROOT / "tests" / "conformance" / "intentional_differences.json").read_text())
    if not entries:
        yield "None."
    for entry in entries:
        yield f"- `{entry['id']}` (known defect {entry['row']}): {entry['reason']}"


def contracts() -> Iterator[str]:
    """Yield a table for each driver of what functions answer in each state of a process."""
    states = ("no driver", "no device", "not initialised", "ready")
    table = (ROOT / "tests" / "unit" / "accelerator" / "contracts.json").read_text()
    for driver, other in (("host", "cuda"), ("cuda", "host")):
        yield ""
        yield f"### The {driver} driver"
        yield ""
        yield f"| call | {' | '.join(states)} | fixes |"
        yield f"| --- |{' --- |' * (len(states) + 1)}"
        for contract in json.loads(table.replace("DRIVER", driver).replace("OTHER", other)):
            told = contract | contract.get(driver, {})
            outcomes = " | ".join(told[state] for state in states)
            yield f"| `{contract['call']}` | {outcomes} | {'yes' if contract['fixes'] else 'no'} |"
    yield ""


def allocator_fields() -> Iterator[str]:
    """Yield the fields of the allocator's configuration."""
    for key in accelerator.allocator_keys():
        yield f"    {key['name']}: {key['annotation']} = {key['default']!r}"
        yield f'    """{" ".join(key["doc"].split())}"""'


def allocator_keys() -> Iterator[str]:
    """Yield the table of the allocator's keys."""
    yield ""
    yield "| key | default | accepts | applies | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for key in accelerator.allocator_keys():
        applies = key["acts"]
        if key["why"]:
            applies += f"{':' * (key['acts'] == 'never')} {key['why']}"
        meaning = " ".join(key["doc"].split())
        yield f"| `{key['name']}` | `{key['default']}` | {key['takes']} | {applies} | {meaning} |"
    yield ""


def formatted(path: Path, text: str) -> str:
    """Return the text of a file as the formatter of this project writes it."""
    if path.suffix not in (".py", ".pyi"):
        return text
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(path), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def between(path: Path, title: str, lines: Iterator[str]) -> str:
    """Return the text of a file with the part between its two marks replaced."""
    comment = "<!-- {} -->" if path.suffix == ".md" else "# {}"
    opening, closing = (comment.format(mark) + "\n" for mark in (f"<{title}>", f"</{title}>"))
    before, found_opening, rest = path.read_text().partition(opening)
    replaced, found_closing, after = rest.partition(closing)
    if not (found_opening and found_closing):
        raise SystemExit(f"{path}: the marks of <{title}> are missing")
    margin = replaced.rpartition("\n")[2]  # of the closing mark
    return before + opening + "".join(f"{line}\n" for line in lines) + margin + closing + after


def generated() -> dict[Path, str]:
    """Return the text that each file should have."""
    whole = {
        PACKAGE / "_flag_types.py": typed_dict(),
        ROOT / "docs" / "flags.md": documentation(),
        ROOT / "docs" / "differences.md": differences(),
    }
    parts = {
        PACKAGE / "__init__.py": ("flags of backends", annotations("")),
        STUBS / "backends.pyi": ("classes of flags", class_stubs()),
        ROOT / "docs" / "accelerator.md": ("contracts", contracts()),
        ROOT / "docs" / "memory.md": ("keys", allocator_keys()),
        PACKAGE.parent / "accelerator" / "_allocator_config.py": (
            "keys of the allocator",
            allocator_fields(),
        ),
    }
    for module in sorted({owner(flag) for flag in FLAGS} - {""}):
        path = source_of(module)
        if path.exists():  # else the owner is an object
            parts[path] = (f"flags of {module}", annotations(module))
    texts = {path: "".join(f"{line}\n" for line in lines) for path, lines in whole.items()}
    texts |= {path: between(path, title, lines) for path, (title, lines) in parts.items()}
    return {path: formatted(path, text) for path, text in texts.items()}


def main() -> int:
    """Write the files, or only compare them."""
    texts = generated()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: run `make generate`")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
