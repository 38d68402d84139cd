"""Every flag of the table: reads, writes, unset, and misspelt names."""

from __future__ import annotations

import contextlib
import inspect
import re
import string
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from interlock import backends, errors

from tests.helpers.thread_worker import Worker
from tests.unit.backends.flag_specs import (
    BY_NAME,
    CHANGEABLE,
    FLAGS,
    READ_ONLY,
    STORED,
    WRONG,
    Flag,
    ids,
    read_all,
)

pytestmark = pytest.mark.usefixtures("restored")

EACH = pytest.mark.parametrize("flag", FLAGS, ids=ids)
EACH_CHANGEABLE = pytest.mark.parametrize("flag", CHANGEABLE, ids=ids)
EACH_STORED = pytest.mark.parametrize("flag", STORED, ids=ids)
EACH_WRONG = pytest.mark.parametrize(("flag", "wrong"), WRONG, ids=ids)


def explained_names(owner: object, prefix: str = "") -> set[str]:
    """Return the dotted names below `owner` that `explain` knows."""
    found: set[str] = set()
    for name in dir(owner):
        if name.startswith("_"):
            continue
        try:
            value = getattr(owner, name)
        except (errors.NoAcceleratorError, errors.DeviceError):  # without a cuda device
            continue
        with contextlib.suppress(Exception):
            found.add(backends.explain(prefix + name).name)
        is_object = not callable(value) and type(value).__module__ != "builtins"
        if (is_object or inspect.ismodule(value)) and prefix.count(".") < 2 and value is not owner:
            found |= explained_names(value, f"{prefix}{name}.")
    return found


def test_table_contains_exactly_the_flags_of_the_package() -> None:
    assert explained_names(backends) == BY_NAME.keys() | READ_ONLY.keys()


@EACH
def test_flag_starts_from_its_default(flag: Flag) -> None:
    assert flag.get() == flag.default
    assert type(flag.get()) is type(flag.default)
    assert hasattr(flag.owner, flag.attribute), "reading never raises"


@EACH
def test_flag_reads_back_its_assigned_value(flag: Flag) -> None:
    for given, reads in flag.accepted:
        flag.set(given)
        assert flag.get() == reads
        assert type(flag.get()) is type(reads)


@EACH_WRONG
def test_flag_refuses_a_wrong_value_and_is_unchanged(flag: Flag, wrong: object) -> None:
    flag.set(flag.legal[-1])
    before, values, epoch = backends.snapshot(), read_all(), backends.epoch()
    with pytest.raises(RuntimeError) as caught:  # the type that PyTorch raises
        flag.set(wrong)
    expected = errors.FlagTypeError if flag.has_wrong_type(wrong) else errors.FlagValueError
    assert type(caught.value) is expected
    assert isinstance(caught.value, TypeError if flag.has_wrong_type(wrong) else ValueError)
    assert (backends.snapshot(), read_all(), backends.epoch()) == (before, values, epoch)


@EACH_WRONG
def test_message_names_flag_value_and_accepted_values(flag: Flag, wrong: object) -> None:
    with pytest.raises(RuntimeError) as caught:
        flag.set(wrong)
    message = str(caught.value)
    assert message.startswith(f"{flag.qualified} ")
    assert repr(wrong) in message or type(wrong).__name__ in message
    for word in flag.allowed:
        assert word in message


@pytest.mark.parametrize(("name", "reads"), READ_ONLY.items())
def test_read_only_flag_refuses_every_write(name: str, reads: object) -> None:
    assert backends.explain(name)[:3] == (name, reads, "default")
    path, _, attribute = name.rpartition(".")
    owner: Any = backends
    for part in path.split("."):
        owner = getattr(owner, part)
    writes: list[Callable[[], object]] = [
        lambda: setattr(owner, attribute, reads),
        lambda: delattr(owner, attribute),
        lambda: backends.override(**{name: reads}),
    ]
    before, epoch = backends.snapshot(), backends.epoch()
    for write in writes:
        with pytest.raises(errors.ReadOnlyFlagError, match=rf"backends\.{re.escape(name)} is read-only"):
            write()
    assert (backends.snapshot(), backends.epoch()) == (before, epoch)
    assert getattr(owner, attribute) == reads


@EACH
def test_delete_unsets_the_assigned_value_completely(flag: Flag) -> None:
    before = backends.snapshot()
    for value in flag.legal:
        flag.set(value)
        assert backends.snapshot() != before, "the default, too, if it is assigned"
        flag.delete()
        assert flag.get() == flag.default
        flag.delete()
        assert backends.snapshot() == before, "deleting twice is no error"


@EACH_STORED
def test_assignment_changes_no_other_plain_flag(flag: Flag) -> None:
    plain = [other for other in FLAGS if "tf32" not in other.name and "fp32" not in other.name]
    before = {other.name: other.get() for other in plain if other is not flag}
    flag.set(flag.other)
    assert {other.name: other.get() for other in plain if other is not flag} == before


@EACH_CHANGEABLE
def test_assignment_is_visible_to_other_threads(flag: Flag, workers: tuple[Worker, Worker]) -> None:
    workers[0].do(lambda: flag.set(flag.other))
    assert flag.get() == flag.other
    assert workers[1].do(flag.get) == flag.other


def test_reset_restores_every_default() -> None:
    for flag in FLAGS:
        flag.set(flag.legal[-1])
    backends.reset()
    assert read_all() == {flag.name: flag.default for flag in FLAGS}


@EACH
def test_flag_is_listed_by_dir_and_by_vars_if_set(flag: Flag) -> None:
    assert flag.attribute in dir(flag.owner)
    assert flag.attribute not in vars(flag.owner), "restoring a default unsets the flag"
    for value in flag.legal:
        flag.set(value)
        assert flag.attribute in dir(flag.owner)
        assert vars(flag.owner)[flag.attribute] == value
    with backends.override(**{flag.name: flag.base}):
        assert vars(flag.owner)[flag.attribute] == flag.base
    flag.delete()
    assert flag.attribute not in vars(flag.owner)


def one_edit(word: str) -> Iterator[str]:
    """Yield every name with one letter omitted, inserted, changed or swapped with the next."""
    letters = string.ascii_lowercase + string.digits + "_"
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


OF_OWNERS: dict[str, list[str]] = {}
for each in FLAGS:
    OF_OWNERS.setdefault(each.name.rpartition(".")[0], []).append(each.attribute)


@EACH
def test_misspelt_name_is_refused_with_a_suggestion(flag: Flag, full: bool) -> None:
    owner = flag.owner
    siblings = [name for name in dir(owner) if not name.startswith("_")]
    slips = {slip for slip in one_edit(flag.attribute) if not slip.startswith("_")} - set(siblings)
    assert len(slips) > 200
    # A name may be close to two names: `cudnn_sdp` and `cudnm_sdp`, `fp16` and `bf16`.
    equally_near = {name: set(one_edit(name)) & slips for name in siblings if name != flag.attribute}
    before = backends.snapshot()
    # A prime step covers every position of the name and every kind of error.
    for slip in sorted(slips)[:: 1 if full else 11]:
        with pytest.raises(AttributeError) as caught:
            setattr(owner, slip, flag.default)
        right = [flag.attribute, *(name for name, theirs in equally_near.items() if slip in theirs)]
        assert any(re.search(rf"(?<!\w){name}(?!\w)", str(caught.value)) for name in right), str(caught.value)
    assert not slips & set(dir(owner))
    assert backends.snapshot() == before
