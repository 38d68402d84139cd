"""Run the checks of `make test`, or of another target.

`--all` runs the remaining ones of `make test-all`, `--crates` those of `make check-crates`, and
`check.py STEP...` the named steps of the first two. If a step fails, its output is printed, and the
following steps still run. The summary has one line for each step, with its real time and the CPU time of its
processes. The exit status is 1 if a step failed.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from steps import Step, crate_steps, environment, quick_steps, remaining_steps

# The counts in the summary lines of the tools. If a step runs a tool several times, the counts are added.
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
    """The result of one step."""

    name: str
    passed: bool
    detail: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def line(self) -> str:
        """Return the step's line of the summary."""
        state = "ok" if self.passed else "FAILED"
        times = f"{self.seconds:6.1f} s {self.cpu_seconds:7.1f} s CPU"
        return f"{self.name:<18} {state:<7} {self.detail:<40} {times}"


def cpu_seconds() -> float:
    """Return the CPU time of all child processes that have exited."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def counts(output: str) -> str:
    """Return the counts in the output of a tool, such as "312 passed, 3 skipped", or an empty string."""
    totals: dict[str, int] = {}
    for summary in SUMMARY_LINES.findall(output):
        for number, word in COUNTS.findall(summary):
            totals[word] = totals.get(word, 0) + int(number)
    shown = [f"{number} {word}" for word, number in totals.items() if number or word == "passed"]
    return ", ".join(shown + FILES.findall(output))


def run(step: Step, failed: set[str]) -> Outcome:
    """Run one step and print its output if it fails."""
    blockers = [name for name in step.needs if name in failed]
    if blockers:
        return Outcome(step.name, False, f"not run: {', '.join(blockers)} failed")
    started, cpu_before = time.monotonic(), cpu_seconds()
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
            output, status = f"{output}cannot start {command[0]}: {error}\n", 1
        if status != 0:
            print(f"\n{output}\n$ {' '.join(command)}\nexit status {status}\n", flush=True)
            break
    seconds, cpu = time.monotonic() - started, cpu_seconds() - cpu_before
    return Outcome(step.name, status == 0, counts(output), seconds, cpu)


def select(empty: Path, arguments: list[str]) -> list[Step]:
    """Return the steps that the command line selects; exit if a name is unknown."""
    quick, remaining = quick_steps(empty), remaining_steps()
    if not arguments:
        return quick
    if arguments == ["--all"]:
        return remaining
    if arguments == ["--crates"]:
        return crate_steps()
    every = {step.name: step for step in quick + remaining}
    unknown = sorted(set(arguments) - every.keys())
    if unknown:
        sys.exit(f"unknown steps: {', '.join(unknown)}; the steps are {', '.join(every)}")
    return [step for step in every.values() if step.name in arguments]


def summary(outcomes: list[Outcome]) -> int:
    """Print a line for each outcome and the totals; return the exit status."""
    print()
    for outcome in outcomes:
        print(outcome.line())
    failures = sum(not outcome.passed for outcome in outcomes)
    real = sum(outcome.seconds for outcome in outcomes)
    cpu = sum(outcome.cpu_seconds for outcome in outcomes)
    print(f"{real / 60:.1f} minutes, {cpu / 60:.1f} minutes of CPU time")
    print(f"{len(outcomes) - failures} passed, {failures} failed")
    return 1 if failures else 0


def main() -> int:
    """Run the selected steps and print the summary."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="interlock-check-") as empty:
        for step in select(Path(empty), sys.argv[1:]):
            print(f"{step.name} ...", flush=True)
            outcomes.append(run(step, {outcome.name for outcome in outcomes if not outcome.passed}))
    return summary(outcomes)


if __name__ == "__main__":
    sys.exit(main())
