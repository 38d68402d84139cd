"""Type checkers accept every right use of every flag and refuse the wrong ones (docs/pytorch_issues.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.typing.test_typing import mypy
from tests.unit.backends.flag_specs import FLAGS, READ_ONLY, Flag

HEAD = "from interlock import backends\n"


def right_lines(flag: Flag) -> Iterator[str]:
    """Yield every right use of a flag."""
    yield f"print(backends.{flag.name})"
    for given, reads in flag.accepted:
        yield f"backends.override({{{flag.name!r}: {given!r}}})"
        # A module's attribute has one type, so values that read as another one are used with `override` only.
        if given == reads or "matmul" in flag.name:
            yield f"backends.{flag.name} = {given!r}"
    yield f"del backends.{flag.name}"


def wrong_lines(flag: Flag) -> Iterator[str]:
    """Yield a wrong type and a misspelt name, for the attribute and for the dict of `override`."""
    wrong, right = flag.wrong_types[0], flag.legal[0]
    yield f"backends.{flag.name} = {wrong!r}"
    yield f"backends.{flag.name}x = {right!r}"
    yield f"backends.override({{{flag.name!r}: {wrong!r}}})"
    yield f"backends.override({{{flag.name + 'x'!r}: {right!r}}})"


def test_stubs_accept_every_right_use_of_a_flag_and_refuse_wrong_ones(tmp_path: Path) -> None:
    right = [line for flag in FLAGS for line in right_lines(flag)]
    right += [f"print(backends.{name})" for name in READ_ONLY]
    wrong = [line for flag in FLAGS for line in wrong_lines(flag)]
    for name, lines in (("right", right), ("wrong", wrong)):
        (tmp_path / f"{name}.py").write_text(HEAD + "\n".join(lines) + "\n")
    done = mypy([str(tmp_path / "right.py"), str(tmp_path / "wrong.py")], tmp_path)
    found = re.findall(r"(right|wrong)\.py:(\d+): error: ", done.stdout, re.MULTILINE)
    text = {"right": right, "wrong": wrong}
    refused = [(file, text[file][int(number) - 2]) for file, number in found]
    assert [line for file, line in refused if file == "right"] == []
    assert sorted({line for _, line in refused}) == sorted(wrong)
