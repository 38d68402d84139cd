"""Draw line charts as SVG with the standard library; the pictures fit light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

WIDTH, HEIGHT = 370, 350
# The area of the lines within a chart.
LEFT, RIGHT, TOP, BOTTOM = 66, 354, 84, 296
# Where the names of the lines are: in rows.
LEGEND, LEGEND_STEP, LEGEND_ROW, NAMES_IN_ROW = 48, 96, 20, 3
STYLE = """
    text { fill: #1b1f24; }
    .dim { fill: #59636e; }
    .axis { stroke: #8c959f; fill: none; }
    .grid { stroke: #d8dee4; }
    .line, .mark { fill: none; stroke-width: 1.5; }
    .color0 { stroke: #8c959f; }
    .color1 { stroke: #2563eb; }
    .color2 { stroke: #c2410c; }
    .color3 { stroke: #15803d; }
    .color4 { stroke: #7e22ce; }
    /* A line remains visible below others with equal points. */
    .line.color0 { stroke-width: 6; }
    .line.color1 { stroke-width: 3.5; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .dim { fill: #9198a1; }
      .axis { stroke: #6e7681; }
      .grid { stroke: #2a313b; }
      .color0 { stroke: #8c959f; }
      .color1 { stroke: #60a5fa; }
      .color2 { stroke: #fb923c; }
      .color3 { stroke: #4ade80; }
      .color4 { stroke: #c084fc; }
    }
"""

Point = tuple[float, float]


class Axis(NamedTuple):
    """An axis from the first of its ticks to the last."""

    label: str
    ticks: Sequence[float]
    is_logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value is between the ends, from 0 to 1."""
        first, last, at = self.ticks[0], self.ticks[-1], value
        if self.is_logarithmic:
            # Zero is drawn at the lower end.
            first, last, at = math.log(first), math.log(last), math.log(max(value, first))
        return (at - first) / (last - first)


class Line(NamedTuple):
    """The points of a line, and points that are marked beside it."""

    name: str
    color: int
    points: Sequence[Point]
    marks: Sequence[Point] = ()


class Chart(NamedTuple):
    """A title, two axes and lines."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]


def decades(values: Sequence[float]) -> list[float]:
    """Return the powers of ten from below the smallest positive value to above the largest."""
    positive = [value for value in values if value > 0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [10.0**exponent for exponent in range(first, max(last, first + 1) + 1)]


def number(value: float) -> str:
    """Return the text of a tick."""
    return f"{value:g}" if 0.01 <= abs(value) < 100_000 or value == 0 else f"{value:.0e}"


def drawn(chart: Chart) -> list[str]:
    """Return the elements of a chart, in the coordinates of the chart."""

    def across(value: float) -> str:
        return f"{LEFT + chart.x.share(value) * (RIGHT - LEFT):.1f}"

    def down(value: float) -> str:
        return f"{BOTTOM - chart.y.share(value) * (BOTTOM - TOP):.1f}"

    elements = [f'<text x="{LEFT}" y="24">{escape(chart.title)}</text>']
    for tick in chart.y.ticks:
        end = f'x="{LEFT - 6}" y="{down(tick)}" dy="4" text-anchor="end"'
        elements += [
            f'<path class="grid" d="M{LEFT} {down(tick)} H{RIGHT}"/>',
            f'<text class="dim" {end}>{number(tick)}</text>',
        ]
    for tick in chart.x.ticks:
        middle = f'x="{across(tick)}" y="{BOTTOM + 18}" text-anchor="middle"'
        elements.append(f'<text class="dim" {middle}>{number(tick)}</text>')
    elements += [
        f'<path class="axis" d="M{LEFT} {TOP} V{BOTTOM} H{RIGHT}"/>',
        f'<text class="dim" x="{RIGHT}" y="{BOTTOM + 40}" text-anchor="end">{escape(chart.x.label)}</text>',
        f'<text class="dim" x="{LEFT}" y="{BOTTOM + 40}">{escape(chart.y.label)}</text>',
    ]
    for index, line in enumerate(chart.lines):
        start = LEFT + index % NAMES_IN_ROW * LEGEND_STEP
        row = LEGEND + index // NAMES_IN_ROW * LEGEND_ROW
        points = " ".join(f"{across(x)},{down(y)}" for x, y in line.points)
        elements += [
            f'<path class="line color{line.color}" d="M{start} {row - 4} h16"/>',
            f'<text x="{start + 22}" y="{row}">{escape(line.name)}</text>',
            f'<polyline class="line color{line.color}" points="{points}"><title>{escape(line.name)}</title>'
            "</polyline>",
        ]
        for x, y in line.marks:
            elements.append(f'<circle class="mark color{line.color}" cx="{across(x)}" cy="{down(y)}" r="5"/>')
    return elements


def svg(charts: Sequence[Chart], description: str) -> str:
    """Return a picture of charts side by side."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(charts)} {HEIGHT}" role="img"',
        f'  font-family="system-ui, sans-serif" font-size="13" aria-label={quoteattr(description)}>',
        f"  <style>{STYLE}  </style>",
    ]
    for index, chart in enumerate(charts):
        elements = "\n    ".join(drawn(chart))
        parts.append(f'  <g transform="translate({index * WIDTH} 0)">\n    {elements}\n  </g>')
    return "\n".join([*parts, "</svg>", ""])
