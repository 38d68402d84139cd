"""Run the recorded cases against a package and print each outcome as one line of JSON.

driver.py MODULE CASES.json...
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import conform


def main(module: str, files: list[str]) -> None:
    package = importlib.import_module(module)
    for file in files:
        for case in json.loads(Path(file).read_text()):
            outcomes = conform.run_case(case, module, package)
            print(json.dumps({"id": case["id"], "outcomes": outcomes}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
