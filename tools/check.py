"""Run every check, go on after a failure, and end with one line for each.

A failing step shows all that it printed. The exit status is that of the whole.
"""

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from steps import Step, environment, steps

# What the tools print at their end. A tool that is run several times in a step has its numbers added.
COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b")
SUMMARY_LINES = re.compile(
    r"^=+ .*(?:passed|failed|error|skipped|no tests ran).* =+$"  # pytest
    r"|^\s*Summary \[.*$"  # cargo nextest
    r"|^test result: .*$"  # cargo test
    r"|^\d+ errors?, \d+ warnings?.*$",  # basedpyright
    re.MULTILINE,
)
FILES = re.compile(r"no issues found in (\d+ (?:source files?|modules?))")


@dataclass(frozen=True)
class Outcome:
    """How one step ended."""

    name: str
    passed: bool
    detail: str
    seconds: float

    def line(self) -> str:
        """Return the step's line of the summary."""
        return (
            f"{self.name:<18} {'ok' if self.passed else 'FAILED':<7} {self.detail:<40} {self.seconds:6.1f} s"
        )


def counts(output: str) -> str:
    """Return the numbers that a tool printed, such as "312 passed, 3 skipped", or nothing."""
    totals: dict[str, int] = {}
    for summary in SUMMARY_LINES.findall(output):
        for number, word in COUNTS.findall(summary):
            totals[word] = totals.get(word, 0) + int(number)
    shown = [f"{number} {word}" for word, number in totals.items() if number or word == "passed"]
    return ", ".join(shown + FILES.findall(output))


def run(step: Step, failed: set[str]) -> Outcome:
    """Run one step and show its output if it fails."""
    blockers = [name for name in step.needs if name in failed]
    if blockers:
        return Outcome(step.name, False, f"not run: {', '.join(blockers)} failed", 0.0)
    started = time.monotonic()
    output, status = "", 0
    for command in step.commands:
        try:
            result = subprocess.run(
                command,
                cwd=step.folder,
                env=environment() | step.variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
            output, status = output + result.stdout, result.returncode
        except OSError as error:
            output, status = f"{output}{command[0]} could not be started: {error}\n", 1
        if status != 0:
            print(f"\n{output}\n$ {' '.join(command)}\nexit status {status}\n", flush=True)
            break
    return Outcome(step.name, status == 0, counts(output), time.monotonic() - started)


def select(every: list[Step], wanted: list[str]) -> list[Step]:
    """Return the steps whose names are given, or all; stop at a name that no step has."""
    unknown = set(wanted) - {step.name for step in every}
    if unknown:
        names = ", ".join(step.name for step in every)
        sys.exit(f"no such step: {', '.join(sorted(unknown))}; the steps are {names}")
    return [step for step in every if not wanted or step.name in wanted]


def main() -> int:
    """Run the steps, or only those whose names are given."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="interlock-check-") as empty:
        for step in select(steps(Path(empty)), sys.argv[1:]):
            print(f"{step.name} ...", flush=True)
            outcomes.append(run(step, {outcome.name for outcome in outcomes if not outcome.passed}))
    print()
    for outcome in outcomes:
        print(outcome.line())
    failures = sum(not outcome.passed for outcome in outcomes)
    print(f"{len(outcomes) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
