"""The example of precisions prints the numbers of its page, and draws a line for each precision."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.helpers.subprocess import run_command

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "precision.py"
PAGE = (ROOT / "docs" / "precision.md").read_text()
COMMITTED = ROOT / "docs" / "images"
PRECISIONS = ["float32", "TF32", "BF16", "float16", "bfloat16"]
DEPTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192]
EPOCHS = 2
SVG = "{http://www.w3.org/2000/svg}"
Table = dict[int, list[float]]


class Run(NamedTuple):
    """The output of the example and the folder of its pictures."""

    lines: list[str]
    pictures: Path


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("pictures")
    options = ["--epochs", str(EPOCHS), "--pictures", str(folder)]
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE), *options])
    assert (done.code, done.stderr) == (0, "")
    return Run(done.stdout.splitlines(), folder)


def shown() -> list[str]:
    """Return the output of the example on the page `"precision.md"`."""
    (text,) = re.findall(r"^```console\n\$ python examples/precision.py\n(.*?)^```$", PAGE, re.S | re.M)
    return str(text).splitlines()


def table(lines: list[str], heading: str) -> Table:
    """Return the rows of a table that begins with a heading and ends with an empty line."""
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    assert lines[start].split() == [heading, *PRECISIONS]
    rows = [line.split() for line in "\n".join(lines[start + 1 :]).partition("\n\n")[0].splitlines()]
    return {int(first): [float(cell) for cell in cells] for first, *cells in rows}


def test_each_precision_uses_its_model(short: Run) -> None:
    count = len(PRECISIONS)
    assert short.lines[: count + 1] == shown()[: count + 1]


def test_errors_of_products_are_those_of_the_page(short: Run) -> None:
    found, printed = table(short.lines, "depth"), table(shown(), "depth")
    assert list(found) == list(printed) == DEPTHS
    for depth in DEPTHS:
        # The largest error of float32 depends on the order of sums, which differs between CPUs.
        for got, want, factor in zip(found[depth], printed[depth], (3, 1.2, 1.2, 1.2, 1.2), strict=True):
            assert want / factor <= got <= want * factor


def test_errors_of_products_are_near_the_expected_ones(short: Run) -> None:
    found = table(short.lines, "depth")
    expected = re.findall(rf"^\| ({'|'.join(PRECISIONS)}) \| (\S+) \| (\S+) \|$", PAGE, re.M)
    assert [name for name, _, _ in expected] == PRECISIONS
    for column, (_, *ends) in enumerate(expected):
        for depth, end in zip((DEPTHS[0], DEPTHS[-1]), ends, strict=True):
            assert float(end) / 2 <= found[depth][column] <= float(end) * 2


def test_losses_are_those_of_the_page(short: Run) -> None:
    found, printed = table(short.lines, "epoch"), table(shown(), "epoch")
    assert found[1] == pytest.approx(printed[1], rel=1e-3)
    for float32, tf32, bf16, float16, _ in printed.values():
        assert [tf32, bf16] == pytest.approx([float32] * 2, rel=3e-3)
        assert float16 == pytest.approx(float32, rel=1e-2)
    float32, *_, bfloat16 = printed[max(printed)]
    assert 1.1 < bfloat16 / float32 < 1.2


class Picture(NamedTuple):
    """The charts of a picture: the points of each line by its name."""

    description: str
    charts: list[dict[str, list[list[float]]]]


def read(path: Path) -> Picture:
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    style = root.find(f"{SVG}style")
    assert style is not None
    assert "@media (prefers-color-scheme: dark)" in str(style.text)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    charts: list[dict[str, list[list[float]]]] = []
    for chart in root.findall(f"{SVG}g"):
        names = {text.text for text in chart.findall(f"{SVG}text")}
        lines: dict[str, list[list[float]]] = {}
        for line in chart.findall(f"{SVG}polyline"):
            points = [[float(number) for number in pair.split(",")] for pair in line.attrib["points"].split()]
            assert all(0 < x < width and 0 < y < height for x, y in points)
            name = line.findtext(f"{SVG}title")
            assert name in names
            lines[str(name)] = points
        charts.append(lines)
    return Picture(root.attrib["aria-label"], charts)


def test_pictures_have_a_line_for_each_precision(short: Run) -> None:
    for folder, epochs in ((short.pictures, EPOCHS), (COMMITTED, 30)):
        losses, errors = read(folder / "precision_losses.svg"), read(folder / "precision_errors.svg")
        assert [list(chart) for chart in losses.charts] == [PRECISIONS, PRECISIONS[1:]]
        assert [list(chart) for chart in errors.charts] == [PRECISIONS]
        assert {len(points) for points in losses.charts[0].values()} == {epochs}
        assert {len(points) for points in errors.charts[0].values()} == {len(DEPTHS)}
        for name, picture in (("losses", losses), ("errors", errors)):
            assert f'<img alt="{picture.description}" src="images/precision_{name}.svg"' in PAGE


def test_committed_picture_of_errors_shows_the_numbers_of_the_run(short: Run) -> None:
    drawn, committed = (
        read(folder / "precision_errors.svg").charts[0] for folder in (short.pictures, COMMITTED)
    )
    for name in PRECISIONS[1:]:
        for point, other in zip(drawn[name], committed[name], strict=True):
            assert point == pytest.approx(other, abs=3)
