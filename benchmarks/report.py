"""The rows of the benchmark table, with their targets and verdicts."""

from dataclasses import dataclass

NOT_MEASURED = "not measured"
HEADINGS = ("what", "ours", "baseline", "ratio", "target", "PyTorch ratio", "verdict")


@dataclass(frozen=True)
class PyTorch:
    """PyTorch's time relative to interlock's, and the target; None if not measured or without a target."""

    ratio: float | None = None
    least: float | None = None

    def text(self) -> str:
        """Return the text of the column."""
        if self.ratio is None:
            return NOT_MEASURED if self.least is not None else "-"
        return f"{self.ratio:.1f}x" + (f" (at least {self.least:g}x)" if self.least is not None else "")

    def met(self) -> bool | None:
        """Return whether the target was met; None without a target or a measurement."""
        if self.ratio is None or self.least is None:
            return None
        return self.ratio >= self.least


@dataclass(frozen=True)
class Row:
    """A measurement and its baseline."""

    what: str
    ours: float
    baseline: float
    unit: str = "ns"
    # The targets: the maximum ratio to the baseline, and the maximum difference in the unit.
    times: float | None = None
    more: float | None = None
    # The target: the maximum in the unit.
    most: float | None = None
    pytorch: PyTorch = PyTorch()

    def verdicts(self) -> list[bool]:
        """Return for each target that was measured whether it was met."""
        found = [self.pytorch.met()]
        if self.times is not None:
            found.append(self.ours <= self.baseline * self.times)
        if self.more is not None:
            found.append(self.ours <= self.baseline + self.more)
        if self.most is not None:
            found.append(self.ours <= self.most)
        return [verdict for verdict in found if verdict is not None]

    def missed(self) -> bool:
        """Return whether any target was missed."""
        return not all(self.verdicts())

    def target(self) -> str:
        """Return the text of the target, except for the one relative to PyTorch."""
        if self.times is not None:
            return f"at most {self.times:g}x"
        if self.more is not None:
            return f"at most +{self.more:g} {self.unit}"
        return f"at most {self.most:g} {self.unit}" if self.most is not None else "-"

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        ratio = f"{self.ours / self.baseline:.2f}x"
        if self.more is not None:
            ratio = f"{ratio} ({self.ours - self.baseline:+.2f} {self.unit})"
        asked = self.pytorch.least is not None
        nothing = NOT_MEASURED if asked else "stated"
        verdict = "missed" if self.missed() else "met" if self.verdicts() else nothing
        numbers = (f"{self.ours:.2f} {self.unit}", f"{self.baseline:.2f} {self.unit}")
        return (self.what, *numbers, ratio, self.target(), self.pytorch.text(), verdict)


def table(rows: list[Row]) -> str:
    """Return the rows as an aligned table."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])
