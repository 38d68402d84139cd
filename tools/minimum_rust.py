"""Check that every dependency in Cargo.lock supports the minimum Rust version of the workspace.

It compares the versions that the dependencies state and compiles nothing; `make check-minimum-rust`
compiles the crates. A dependency that states no minimum is not checked; their number is printed.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def number(version: str) -> tuple[int, ...]:
    """Return a version such as "1.90" or "1.90.0" as numbers that can be compared."""
    return tuple(int(part) for part in version.split("."))[:2]


def main() -> int:
    """Print the dependencies that need a newer Rust; return 1 if there are any."""
    minimum = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.check_output(command, cwd=ROOT))["packages"]
    stated = {f"{one['name']} {one['version']}": one["rust_version"] for one in packages}
    newer = {name: needed for name, needed in stated.items() if needed and number(needed) > number(minimum)}
    for name, needed in sorted(newer.items()):
        print(f"{name} needs Rust {needed}, and the workspace states {minimum}")
    silent = sum(needed is None for needed in stated.values())
    print(f"{len(stated)} crates, of which {silent} state no minimum Rust version")
    return 1 if newer else 0


if __name__ == "__main__":
    sys.exit(main())
