"""Run fuzzers: `python -m tests.fuzz [KIND ...] [--seed N] [--count N]`; all of them by default."""

from __future__ import annotations

import argparse
import os
import random
import sys

from tests.fuzz.actions import FAULTS
from tests.fuzz.harness import KINDS, run


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", type=int, help="the first seed; random without it")
    parser.add_argument("--count", type=int, help="actions of each fuzzer; without it, those of `make fuzz`")
    parser.add_argument("--seconds", type=float, help="end after this time, which the fuzzers share")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="children at a time")
    parser.add_argument("--quiet", type=float, help="seconds without an action after which a child hangs")
    parser.add_argument("--plant", metavar="FAULT:NUMBER", help=f"a fault to find: {', '.join(FAULTS)}")
    given = parser.parse_args()
    unknown = set(given.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no such fuzzer: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    return given


def main() -> int:
    """Run the fuzzers; return 1 if one of them found a failure."""
    given = arguments()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 40)
    every = []
    chosen = given.kinds or list(KINDS)
    seconds = given.seconds / len(chosen) if given.seconds else None
    for name in chosen:
        kind = KINDS[name]
        count = given.count or kind.count
        print(f"{name}: {count:,} {kind.unit} from seed {seed}", flush=True)
        totals = run(
            kind, seed, count, jobs=given.jobs, plant=given.plant, quiet=given.quiet, seconds=seconds
        )
        every.append(totals)
        print(totals.line(), flush=True)
    if len(every) > 1:
        print("\n" + "\n".join(totals.line() for totals in every))
    return 1 if any(totals.failures for totals in every) else 0


if __name__ == "__main__":
    sys.exit(main())
