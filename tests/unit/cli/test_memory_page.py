"""The page of `python -m interlock memory --html` in headless Chromium."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from interlock._cli.memory.history import Event, Frame, History, Stack
from interlock._cli.memory.page import page
from interlock._cli.memory.snapshot_file import Block, Segment, Snapshot
from interlock._cli.sizes import percent_text, share_text, size_text

from tests.helpers.subprocess import run_command

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")

# Points at the middle of the canvas, zooms in, and reads what the page shows.
PROBE = """
<script>
const canvas = document.getElementById("timeline");
const at = (x, y) => canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
const box = canvas.getBoundingClientRect();
at(box.left + box.width * 2.5 / 7, box.bottom - box.height * 0.2);
const details = document.getElementById("details").textContent;
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const colors = new Set();
for (let index = 0; index < pixels.length; index += 4) colors.add(pixels.slice(index, index + 3).join());
document.getElementById("in").click();
const zoomed = [...timeline.range];
document.getElementById("reset").click();
const text = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent);
at(box.left + timeline.x(4), box.top + 60);
const atError = document.getElementById("details").textContent;
at(box.left + timeline.x(5), box.top + 60);
const atAnnotation = document.getElementById("details").textContent;
at(box.left + timeline.x(3), box.top + 60);
const atPeak = document.getElementById("details").textContent;
const names = ["--background", "--smaller", "--other-sites", "--reserved", "--pending"]
  .concat(Array.from({ length: SITE_COLORS }, (_, index) => `--site-${index + 1}`));
const probe = document.body.appendChild(document.createElement("i"));
const palette = names.map((name) => {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
});
const keys = [...document.querySelectorAll("#sites .key")]
  .map((key) => getComputedStyle(key).backgroundColor);
const texts = SIZES.map((count) =>
  [bytes(count), share(count, 3 * count + 13762560), Math.round(100 * ((count % 200) / 200))]);
const ticks = timeline.ticks().map((tick) => timeline.tickTexts(tick));
const shown = { atError, atAnnotation, atPeak, palette, keys, texts, ticks, zoomed,
  details, all: timeline.range, colors: colors.size, width: document.body.scrollWidth,
  figures: text("dd"), sites: text("#sites tbody td"), segments: text(".segment span"),
  legend: text(".bar span:not([hidden])"), note: document.getElementById("note").textContent,
  title: document.title };
document.body.replaceChildren(JSON.stringify(shown));
</script>
</body>
"""


def stack(line: int) -> Stack:
    return Stack((Frame("train.py", line, "step"), Frame("train.py", 1, "main")))


def snapshot() -> Snapshot:
    """Return a snapshot with a large allocation, and a smaller one that ends."""
    events = (
        Event("segment_alloc", 0, 4 << 20, 0, 10, Stack(())),
        Event("alloc", 0, 2 << 20, 0, 20, stack(7)),
        Event("alloc", 2 << 20, 1 << 20, 0, 30, stack(8)),
        Event("oom", 0, 1 << 40, 0, 35, Stack(()), "3 MiB free on the device"),
        Event("annotate", 0, 0, 0, 36, Stack(()), "the weights"),
        Event("free_completed", 2 << 20, 1 << 20, 0, 40, Stack(())),
        Event("shiny", 0, 0, 0, 45, Stack(())),
    )
    history = History()
    for event in events:
        history.add(event)
    blocks = (
        Block(0, 2 << 20, 2 << 20, "active_allocated", stack(7)),
        Block(2 << 20, 2 << 20, 0, "inactive", Stack(())),
    )
    return Snapshot((Segment(0, 0, 4 << 20, 0, "large", blocks),), {0: history})


# 13762560 bytes are 13.125 MiB, in the middle between two numbers of four digits.
SIZES = [0, 1, 1023, 1024, 13762560, 13107 * 1024 // 10, *(round(1.37**power) for power in range(100))]


def show(tmp_path: Path, loaded: Snapshot, columns: int, *options: str) -> Any:
    """Open a page in a window of so many columns, and return what it shows."""
    path = tmp_path / "page.html"
    probe = PROBE.replace("SIZES", json.dumps(SIZES))
    path.write_text(page(loaded, "snapshot.pickle").replace("</body>", probe))
    done = run_command(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={columns},1200",
            f"--user-data-dir={tmp_path / 'profile'}", *options, "--dump-dom", path.as_uri(),
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
    assert shown["legend"] == ["reserved", "▼ peak", "✕ out of memory", "◆ annotation"]
    assert shown["figures"] == ["3 MiB", "4 MiB", "2 MiB", "4 MiB", "7", "shiny (1)"]
    assert shown["sites"] == [
        "2 MiB", "66.7 %", "1", "train.py:7 step", "1 MiB", "33.3 %", "1", "train.py:8 step"
    ]  # fmt: skip
    assert shown["segments"] == [
        "0x0, stream 0, large: 4 MiB, 2 MiB free, largest free block 2 MiB, fragmentation 0 %"
    ]
    first, second, *frames = shown["details"].splitlines()
    assert first == "event 2 of 7, 0.010 ms after the first: 2 MiB allocated, 4 MiB reserved"
    assert second == "2 MiB at 0x0, stream 0: allocated at event 2, still allocated"
    assert frames == ["train.py:7 step", "train.py:1 main"]
    assert shown["zoomed"][1] - shown["zoomed"][0] == 4
    assert shown["all"] == [0, 7]
    ticks = [["0", "0.000 ms"], ["2", "0.010 ms"], ["4", "0.025 ms"], ["6", "0.030 ms"]]
    assert [tick for tick in shown["ticks"] if tick in ticks] == ticks
    assert "out of memory at event 4: 1 TiB requested, 3 MiB free on the device" in shown["atError"]
    assert "annotation at event 5: the weights" in shown["atAnnotation"]
    assert "peak at event 3: 3 MiB allocated" in shown["atPeak"]
    assert shown["colors"] >= 4
    assert shown["width"] <= columns


@pytest.mark.subprocess
def test_page_of_an_empty_snapshot_says_so(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(Snapshot((), {}), "x"))
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
    monkeypatch.setattr("interlock._cli.memory.history.MAX_BANDS", 1)
    shown = show(tmp_path, snapshot(), 1280)
    assert shown["legend"][:2] == ["smaller allocations", "reserved"]
    assert shown["note"].endswith("1 smaller ones are drawn together.")


@pytest.mark.subprocess
def test_numbers_on_the_page_are_those_of_the_terminal(tmp_path: Path) -> None:
    shown = show(tmp_path, snapshot(), 1280)
    for count, (size, share, percent) in zip(SIZES, shown["texts"], strict=True):
        assert size == size_text(count)
        assert share == share_text(count, 3 * count + 13762560)
        assert f"{percent} %" == percent_text((count % 200) / 200)


# Vision without one kind of cone, in linear RGB: Machado, Oliveira and Fernandes, 2009.
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)
    ),
}  # fmt: skip


def product(matrix: Any, vector: Any) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(color: str, vision: str) -> list[float]:
    """Return a colour of CSS in CIELAB, as it is seen."""
    channels = [int(channel) / 255 for channel in re.findall(r"\d+", color)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    seen = [min(1.0, max(0.0, each)) for each in product(VISIONS[vision], linear)]
    to_xyz = (
        (0.43390, 0.37620, 0.18990), (0.212673, 0.715152, 0.072175), (0.01776, 0.10947, 0.87277)
    )  # fmt: skip
    x, y, z = (
        each ** (1 / 3) if each > (6 / 29) ** 3 else each / (3 * (6 / 29) ** 2) + 4 / 29
        for each in product(to_xyz, seen)
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


@pytest.mark.subprocess
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_of_the_legend_and_the_call_sites_differ(tmp_path: Path, scheme: str) -> None:
    setting = f"--blink-settings=preferredColorScheme={int(scheme == 'light')}"
    shown = show(tmp_path, snapshot(), 1280, setting)
    assert (shown["palette"][0] == "rgb(255, 255, 255)") == (scheme == "light")
    # Site 1 and 2 are those of the table.
    assert shown["keys"] == shown["palette"][5:7]
    for vision in VISIONS:
        seen = [lab(color, vision) for color in shown["palette"]]
        closest = min(math.dist(one, other) for one, other in itertools.combinations(seen, 2))
        # From about 10 on two colours are different at a glance.
        assert closest >= 20, vision
