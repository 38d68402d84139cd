"""The page of `python -m interlock memory --html` in headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from interlock._cli.memory.page import page
from interlock._cli.memory.snapshot_file import Block, Event, Frame, Segment, Snapshot

from tests.helpers.subprocess import run_command

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")

# Points at the middle of the canvas, zooms in, and reads what the page shows.
PROBE = """
<script>
const canvas = document.getElementById("timeline");
const at = (x, y) => canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
const box = canvas.getBoundingClientRect();
at(box.left + box.width * 0.5, box.bottom - box.height * 0.2);
const details = document.getElementById("details").textContent;
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const colors = new Set();
for (let index = 0; index < pixels.length; index += 4) colors.add(pixels.slice(index, index + 3).join());
document.getElementById("in").click();
const zoomed = [...timeline.range];
document.getElementById("reset").click();
const text = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent);
const shown = { details, zoomed, all: timeline.range, colors: colors.size, width: document.body.scrollWidth,
  figures: text("dd"), sites: text("#sites tbody td"), segments: text(".segment span"),
  legend: text(".bar span:not([hidden])"), note: document.getElementById("note").textContent,
  title: document.title };
document.body.replaceChildren(JSON.stringify(shown));
</script>
</body>
"""


def stack(line: int) -> tuple[Frame, ...]:
    return (Frame("train.py", line, "step"), Frame("train.py", 1, "main"))


def snapshot() -> Snapshot:
    """Return a snapshot with a large allocation, and a smaller one that ends."""
    events = (
        Event("segment_alloc", 0, 4 << 20, 0, 10, ()),
        Event("alloc", 0, 2 << 20, 0, 20, stack(7)),
        Event("alloc", 2 << 20, 1 << 20, 0, 30, stack(8)),
        Event("free_completed", 2 << 20, 1 << 20, 0, 40, ()),
    )
    blocks = (
        Block(0, 2 << 20, 2 << 20, "active_allocated", stack(7)),
        Block(2 << 20, 2 << 20, 0, "inactive", ()),
    )
    return Snapshot((Segment(0, 0, 4 << 20, 0, "large", blocks),), (events,))


def show(tmp_path: Path, loaded: Snapshot, columns: int) -> Any:
    """Open a page in a window of so many columns, and return what it shows."""
    path = tmp_path / "page.html"
    path.write_text(page(loaded, "snapshot.pickle").replace("</body>", PROBE))
    done = run_command(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={columns},1200",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri(),
        ]
    )  # fmt: skip
    found = re.search(r"<body>(\{.*\})\s*</body>", done.stdout, re.DOTALL)
    assert found is not None, done.stderr
    return json.loads(unescape(found[1]))


@pytest.mark.subprocess
@pytest.mark.parametrize("columns", [1280, 500])
def test_page_shows_allocations_call_sites_and_segments(tmp_path: Path, columns: int) -> None:
    shown = show(tmp_path, snapshot(), columns)
    assert shown["title"] == "Memory timeline of snapshot.pickle"
    assert shown["legend"] == ["reserved"]
    assert shown["figures"] == ["3 MiB", "4 MiB", "2 MiB", "4 MiB", "4"]
    assert shown["sites"] == [
        "2 MiB", "66.7 %", "1", "train.py:7 step", "1 MiB", "33.3 %", "1", "train.py:8 step"
    ]  # fmt: skip
    assert shown["segments"] == [
        "0x0, stream 0, large: 4 MiB, 2 MiB free, largest free block 2 MiB, fragmentation 0 %"
    ]
    first, second, *frames = shown["details"].splitlines()
    assert first == "event 2 of 4, 0.010 ms after the first: 2 MiB allocated, 4 MiB reserved"
    assert second == "2 MiB at 0x0, stream 0: allocated at event 2, still allocated"
    assert frames == ["train.py:7 step", "train.py:1 main"]
    assert shown["zoomed"][1] - shown["zoomed"][0] == 4
    assert shown["all"] == [0, 4]
    assert shown["colors"] >= 4
    assert shown["width"] <= columns


@pytest.mark.subprocess
def test_page_of_an_empty_snapshot_says_so(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(Snapshot((), ()), "x"))
    done = run_command(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri(),
        ]
    )  # fmt: skip
    assert "The snapshot has no segments and no events." in done.stdout


@pytest.mark.subprocess
def test_legend_has_smaller_allocations_if_some_are_drawn_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock._cli.memory.page.MAX_BANDS", 1)
    shown = show(tmp_path, snapshot(), 1280)
    assert shown["legend"] == ["smaller allocations", "reserved"]
    assert shown["note"].endswith("1 smaller ones are drawn together.")
