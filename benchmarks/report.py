"""One line of the table for each thing measured, and the verdicts."""

from dataclasses import dataclass

NOT_MEASURED = "not measured"
HEADINGS = ("what", "ours", "floor", "ratio", "target", "PyTorch ratio", "verdict")


@dataclass(frozen=True)
class PyTorch:
    """How many times slower PyTorch was, and how many times it has to be; None: not known, not asked."""

    ratio: float | None = None
    least: float | None = None

    def text(self) -> str:
        """Return what the table shows."""
        if self.ratio is None:
            return NOT_MEASURED if self.least is not None else "-"
        return f"{self.ratio:.1f}x" + (f" (at least {self.least:g}x)" if self.least is not None else "")

    def met(self) -> bool | None:
        """Return whether the target was met; None where there is none, or nothing was measured."""
        if self.ratio is None or self.least is None:
            return None
        return self.ratio >= self.least


@dataclass(frozen=True)
class Row:
    """One thing measured, beside its floor."""

    what: str
    ours: float
    floor: float
    unit: str = "ns"
    # At most this many times the floor, or at most this much more than it, in the unit.
    times: float | None = None
    more: float | None = None
    # At most this much, in the unit.
    most: float | None = None
    pytorch: PyTorch = PyTorch()

    def verdicts(self) -> list[bool]:
        """Return whether each target was met that could be looked at."""
        found = [self.pytorch.met()]
        if self.times is not None:
            found.append(self.ours <= self.floor * self.times)
        if self.more is not None:
            found.append(self.ours <= self.floor + self.more)
        if self.most is not None:
            found.append(self.ours <= self.most)
        return [verdict for verdict in found if verdict is not None]

    def missed(self) -> bool:
        """Return whether any target was missed."""
        return not all(self.verdicts())

    def target(self) -> str:
        """Return the target other than PyTorch's."""
        if self.times is not None:
            return f"at most {self.times:g}x"
        if self.more is not None:
            return f"at most +{self.more:g} {self.unit}"
        return f"at most {self.most:g} {self.unit}" if self.most is not None else "-"

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the columns."""
        ratio = f"{self.ours / self.floor:.2f}x"
        if self.more is not None:
            ratio = f"{ratio} ({self.ours - self.floor:+.2f} {self.unit})"
        asked = self.pytorch.least is not None
        nothing = NOT_MEASURED if asked else "stated"
        verdict = "missed" if self.missed() else "met" if self.verdicts() else nothing
        numbers = (f"{self.ours:.2f} {self.unit}", f"{self.floor:.2f} {self.unit}")
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
