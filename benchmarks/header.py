"""Measure the C header in an extension module, and print the nanoseconds as JSON."""

import importlib
import json
import sys

ROUNDS = 30
ITERATIONS = 200_000


def main(folder: str) -> None:
    """Measure with the extension module of a folder."""
    sys.path.append(folder)
    module = importlib.import_module("interlock_header")
    print(json.dumps(module.measure(ROUNDS, ITERATIONS)))


if __name__ == "__main__":
    main(sys.argv[1])
