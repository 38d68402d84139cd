"""Recorded machines: `topologies` has one file for each, with the text of every kernel file that is read.

`virtual_machine` was copied from a real one; the others follow the kernel's documentation.
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

from interlock._launcher import topology as _topology
from interlock._launcher.topology import Topology

FOLDER = Path(__file__).parent / "topologies"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def files(name: str) -> dict[str, str]:
    """Return the text of each file by its path below the root."""
    read: dict[str, str] = json.loads((FOLDER / f"{name}.json").read_text())
    return read


def lay_out(texts: dict[str, str], root: Path) -> Path:
    """Write these files below a folder, which becomes the root of the machine."""
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@functools.cache
def topology(name: str) -> Topology:
    with tempfile.TemporaryDirectory() as folder:
        return _topology.read(lay_out(files(name), Path(folder)))
