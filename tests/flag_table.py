"""Every flag, with values to try on it. A flag of the package without a row here fails `test_write_path`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interlock import backends

PRECISIONS = ("none", "ieee", "tf32", "bf16")
CUDA_PRECISIONS = ("none", "ieee", "tf32")
DEPTHWISE = ("auto", "cudnn", "native")


@dataclass(frozen=True)
class Flag:
    """A flag or a view of flags, and what it takes."""

    name: str
    default: object
    other: object
    """A legal value that reads back as something other than the default."""
    wrong_types: tuple[object, ...]
    allowed: tuple[str, ...]
    """Words that an error about a wrong value must contain."""
    wrong_values: tuple[object, ...] = ()
    is_view: bool = False
    """Whether it only shows other flags and has no value of its own."""
    more: tuple[object, ...] = field(default=())
    """Further legal values."""

    def __str__(self) -> str:
        return self.name

    @property
    def owner(self) -> Any:
        """The module or object whose attribute this flag is."""
        place: Any = backends
        for part in self.name.split(".")[:-1]:
            place = getattr(place, part)
        return place

    @property
    def attribute(self) -> str:
        return self.name.split(".")[-1]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "INTERLOCK_" + self.name.upper().replace(".", "_")

    @property
    def base(self) -> object:
        """A value to assign that is not `other`: the default, unless that means that nothing is assigned."""
        return self.more[0] if self.default is None else self.default

    @property
    def legal(self) -> tuple[object, ...]:
        return (self.base, self.other, *self.more)

    @property
    def wrong(self) -> tuple[object, ...]:
        return (*self.wrong_types, *self.wrong_values)

    def get(self) -> object:
        return getattr(self.owner, self.attribute)

    def set(self, value: object) -> None:
        setattr(self.owner, self.attribute, value)

    def delete(self) -> None:
        delattr(self.owner, self.attribute)


def boolean(name: str, default: bool, *, is_view: bool = False) -> Flag:
    wrong = (1, 0, "yes", None, 1.5, [], b"1")
    return Flag(name, default, not default, wrong, ("bool",), is_view=is_view, more=(not default, default))


def precision(name: str, default: str = "none", *, on_cuda: bool) -> Flag:
    allowed = CUDA_PRECISIONS if on_cuda else PRECISIONS
    wrong = ("bogus", "", "TF32", "ieee ") + (("bf16",) if on_cuda else ())
    more = tuple(value for value in allowed if value not in (default, "ieee"))
    return Flag(name, default, "ieee", (3, None, True, 1.5, b"ieee"), allowed, wrong, more=more)


def reduction(name: str) -> Flag:
    wrong_types = ("x", None, 1, (), [], (True, True, True), (1, 2), (True, None))
    return Flag(name, True, False, wrong_types, ("bool",), ((True, False), [True, False]), more=(True,))


FLAGS = (
    precision("fp32_precision", on_cuda=False),
    boolean("cudnn.enabled", True),
    boolean("cudnn.benchmark", False),
    Flag("cudnn.benchmark_limit", 10, 3, ("x", 1.5, None, [], True), ("int",), (-1,), more=(0, 25)),
    boolean("cudnn.deterministic", False),
    boolean("cudnn.allow_tf32", True, is_view=True),
    Flag("cudnn.depthwise_kernel", "auto", "native", (3, None, True), DEPTHWISE, ("x", ""), more=("cudnn",)),
    precision("cudnn.fp32_precision", on_cuda=True),
    precision("cudnn.conv.fp32_precision", "tf32", on_cuda=True),
    precision("cudnn.rnn.fp32_precision", "tf32", on_cuda=True),
    boolean("cuda.matmul.allow_tf32", False, is_view=True),
    reduction("cuda.matmul.allow_fp16_reduced_precision_reduction"),
    reduction("cuda.matmul.allow_bf16_reduced_precision_reduction"),
    boolean("cuda.matmul.allow_fp16_accumulation", False),
    precision("cuda.matmul.fp32_precision", on_cuda=True),
    boolean("mkldnn.enabled", True),
    boolean("mkldnn.deterministic", False),
    Flag("mkldnn.allow_tf32", None, True, (1, 0, "yes", 1.5, []), ("bool",), more=(False,)),
    precision("mkldnn.fp32_precision", on_cuda=False),
    precision("mkldnn.matmul.fp32_precision", on_cuda=False),
    precision("mkldnn.conv.fp32_precision", on_cuda=False),
    precision("mkldnn.rnn.fp32_precision", on_cuda=False),
)
BY_NAME = {flag.name: flag for flag in FLAGS}
STORED = tuple(flag for flag in FLAGS if not flag.is_view)
WRONG = [(flag, wrong) for flag in FLAGS for wrong in flag.wrong]


def read_all() -> dict[str, object]:
    """Every flag as this thread sees it."""
    return {flag.name: flag.get() for flag in FLAGS}


def ids(value: object) -> str:
    """A test id for a flag or a value."""
    return str(value) if isinstance(value, Flag) else repr(value)
