"""The workflows run only targets of the Makefile, on every supported Python, and pin a commit of each action.

`make check-workflows` checks the rest: their syntax, their permissions and known attacks.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml  # A dependency of distributed.

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
# A target, or the variable GOAL, and arguments of make that are constants or variables of the shell.
COMMAND = re.compile(r'make ([a-z-]+|"\$GOAL")(?: [A-Z]+=(?:"\$[A-Z_]+"|[\w-]+))*')
PINNED = re.compile(r"uses: ([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$", re.MULTILINE)


def jobs(file: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()


def targets(job: dict[str, Any]) -> Iterator[str]:
    """Yield the targets that a job runs; fail for any other command."""
    for step in job.get("steps", ()):
        if "run" in step:
            command = COMMAND.fullmatch(step["run"])
            assert command, step["run"]
            if command[1] == '"$GOAL"':
                assert job["env"]["GOAL"] == "${{ matrix.target }}"
                yield from job["strategy"]["matrix"]["target"]
            else:
                yield command[1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_workflow_runs_targets_that_exist(file: Path) -> None:
    assert {target for job in jobs(file) for target in targets(job)} <= TARGETS


def test_workflows_pin_one_commit_of_each_action() -> None:
    commits = defaultdict(set)
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        pinned = PINNED.findall(text)
        # The rest are workflows of this repository, at the same commit.
        assert len(pinned) == text.count("uses: ") - text.count("uses: $/")
        for action, commit in pinned:
            commits[action].add(commit)
    assert commits
    assert {action: found for action, found in commits.items() if len(found) > 1} == {}


def test_tests_run_on_each_supported_python() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["strategy"]
    assert matrix["matrix"]["python"] == [each.rpartition(" ")[2] for each in classifiers if ":: 3." in each]


@pytest.fixture(scope="module")
def release_notes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_notes", ROOT / "tools" / "release_notes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHANGELOG = (
    "# Changelog\n\nText.\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0 (2026-12-01)\n\n### A\n\n- old\n"
)


def test_release_notes_are_the_entry_of_the_version(release_notes: ModuleType) -> None:
    assert release_notes.notes("v0.1.0", "0.1.0", CHANGELOG) == "### A\n\n- old\n"
    dated = CHANGELOG.replace("unreleased", "2027-01-31")
    assert release_notes.notes("v0.2.0", "0.2.0", dated) == "- new\n"


@pytest.mark.parametrize(
    ("tag", "version", "reason"),
    [
        ("v0.1.0", "0.2.0", "the tag of version 0.2.0 in Cargo.toml is v0.2.0, not v0.1.0"),
        ("v0.3.0", "0.3.0", "CHANGELOG.md has no entry of 0.3.0"),
        ("v0.2.0", "0.2.0", 'the entry of 0.2.0 needs a date, not "unreleased"'),
    ],
)
def test_release_notes_refuse_a_version_that_is_not_ready(
    release_notes: ModuleType, tag: str, version: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        release_notes.notes(tag, version, CHANGELOG)


def test_changelog_has_an_entry_of_the_version(release_notes: ModuleType) -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    entries = release_notes.ENTRY.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert [entry[0] for entry in entries][:1] == [version]
