"""The program of a child process: `python -m tests.fuzz.work KIND SEED COUNT FOLDER [FAULT:NUMBER]`."""

from __future__ import annotations

import faulthandler
import importlib
import sys
import warnings
from pathlib import Path

from tests.fuzz.actions import Actions


def main() -> None:
    """Run the actions of one seed and write the result into the folder."""
    faulthandler.enable(all_threads=True)
    warnings.simplefilter("ignore")
    kind, seed, count, folder, *plant = sys.argv[1:]
    actions = Actions(int(seed), int(count), Path(folder), plant[0] if plant else None)
    importlib.import_module(f"tests.fuzz.{kind}").run(actions)
    actions.finish()


if __name__ == "__main__":
    main()
