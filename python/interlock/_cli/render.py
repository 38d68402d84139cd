"""Renders collected values as sections of text."""

from __future__ import annotations

from interlock._cli.collect import (
    Accelerators,
    Cpu,
    Device,
    ExplainedFlag,
    Flag,
    Library,
    Report,
    Runtime,
    Variable,
    Versions,
)
from interlock._cli.memory.diff import CallSiteChange, DeviceChange, Diff
from interlock._cli.memory.summary import DeviceSummary, SegmentFragmentation, Summary
from interlock._cli.memory.timeline import CallSite
from interlock._cli.sizes import change_text, percent_text, share_text, size_text
from interlock._console import EMPTY, Block, Cell, Fields, Row, Section, Style, Table


def report(collected: Report) -> tuple[Section, ...]:
    """Render the report of `python -m interlock`."""
    return (
        Section("Versions", (_versions(collected.versions),)),
        Section("CPU", (_cpu(collected.cpu),)),
        Section("Accelerators", _accelerators(collected.accelerators)),
        Section("Vendor libraries", (_libraries(collected.libraries),)),
        Section("OpenMP runtimes", (_runtimes(collected.openmp),)),
        Section("Flags that differ from their default", (_flags(collected.flags),)),
        Section("Environment", (_environment(collected.environment),)),
    )


def flags(shown: tuple[Flag, ...]) -> tuple[Section, ...]:
    """Render a table of flags."""
    return (Section("Flags", (_flags(shown),)),)


def explain(flag: ExplainedFlag) -> tuple[Section, ...]:
    """Render one flag with its value, type, accepted values, variables and documentation."""
    fields = Fields(
        (
            ("value", _value(flag)),
            ("level", Cell(flag.level)),
            ("set by", _no_wrap(flag.set_by)),
            *((("inherited from", _no_wrap(flag.inherited_from)),) if flag.inherited_from else ()),
            ("effective", Cell(repr(flag.effective))),
            ("overridden by", _no_wrap(flag.overridden_by)),
            ("affects", Cell(flag.affects)),
            ("type", Cell(flag.type)),
            ("accepts", Cell("nothing: the flag is read-only" if flag.accepts is None else flag.accepts)),
            ("default", Cell(repr(flag.default))),
            *((("validator", _no_wrap(flag.validator)),) if flag.validator else ()),
            ("variables", Cell(", ".join(flag.variables)) if flag.variables else MISSING),
            ("variables read", Cell(f"once, {flag.variables_read}") if flag.variables_read else MISSING),
        )
    )
    name = flag.name if flag.is_registered else f"backends.{flag.name}"
    return (Section(name, (Cell(flag.documentation), fields)),)


def accelerators(collected: Accelerators) -> tuple[Section, ...]:
    """Render all devices with their properties, or the reason why none is available."""
    devices = (Section(device.device, (_device(device),)) for device in collected.devices)
    return (Section("Accelerators", (_driver(collected),)), *devices)


# The rows of a table of the memory command; `--json` has all.
_MAX_MEMORY_ROWS = 10


def memory(summary: Summary) -> tuple[Section, ...]:
    """Render the peak, the call sites at the peak and the fragmentation of each device of a snapshot."""
    if not summary.devices:
        return (Section("Memory", (Cell("The snapshot has no segments and no events."),)),)
    return tuple(Section(_memory_of(device.device), _memory(device)) for device in summary.devices)


def memory_diff(diff: Diff) -> tuple[Section, ...]:
    """Render what grew and what shrank on each device from one snapshot to another."""
    if not diff.devices:
        return (Section("Memory", (Cell("The snapshots have no segments and no events."),)),)
    return tuple(Section(_memory_of(device.device), _memory_diff(device)) for device in diff.devices)


def _memory_of(device: int | None) -> str:
    return "Pinned memory" if device is None else f"Device {device}"


MISSING = Cell("-", Style.DIM)
EMPTY_TEXT = Cell("(empty)", Style.DIM)


def _no_wrap(text: str | None) -> Cell:
    """Return a cell for a path or another text that must not be broken, so that it can be copied."""
    return MISSING if text is None else Cell(_printable(text), no_wrap=True)


def _text(text: str | None) -> Cell:
    return MISSING if text is None else Cell(_printable(text))


def _number(number: int | None) -> Cell:
    return MISSING if number is None else Cell(str(number))


def _printable(text: str) -> str:
    """Return the text with control characters escaped, because a terminal would interpret them."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _problem(text: str) -> Cell:
    return Cell(_printable(text), Style.PROBLEM)


def _size(bytes_: int | None) -> str:
    """Return a number of bytes with a binary unit, or a dash if it is not known."""
    return "-" if bytes_ is None else size_text(bytes_)


def _versions(versions: Versions) -> Block:
    return Fields(
        (
            ("interlock", Cell(versions.interlock)),
            ("extension", _no_wrap(versions.extension)),
            (
                "features",
                Cell(", ".join(versions.features)) if versions.features else Cell("none", Style.DIM),
            ),
            ("Python", Cell(versions.python)),
            ("executable", _no_wrap(versions.executable)),
            ("ABI", _text(versions.abi)),
            ("platform", _text(versions.platform)),
            ("libc", _text(versions.libc)),
        )
    )


def _cpu(cpu: Cpu) -> Block:
    return Fields(
        (
            ("model", _text(cpu.model)),
            ("cores", Cell(f"{cpu.allowed_cores} of {cpu.cores} allowed")),
            ("capability", Cell(cpu.capability)),
        )
    )


def _accelerators(accelerators: Accelerators) -> tuple[Block, ...]:
    rows = (
        Row(
            (
                Cell(device.device, no_wrap=True),
                _text(device.name),
                Cell(_size(device.total_memory)),
                _number(device.multi_processor_count),
            ),
            _notes(device),
        )
        for device in accelerators.devices
    )
    table = Table(("device", "name", "memory", "multiprocessors"), tuple(rows))
    return (_driver(accelerators), table) if accelerators.devices else (_driver(accelerators),)


def _driver(accelerators: Accelerators) -> Block:
    """Return the driver, the number of its devices, and the reason if there are none."""
    driver = Cell("none") if accelerators.driver is None else Cell(accelerators.driver)
    fields = [("driver", driver), ("devices", Cell(str(len(accelerators.devices))))]
    if accelerators.unavailable_reason is not None:
        fields.append(("reason", _text(accelerators.unavailable_reason)))
    return Fields(tuple(fields))


def _notes(device: Device) -> tuple[Cell, ...]:
    if device.problem is not None:
        return (_problem(device.problem),)
    extra = ", ".join(f"{name} {value}" for name, value in device.extra.items())
    return (Cell(_printable(extra), Style.DIM),) if extra else ()


def _device(device: Device) -> Block:
    if device.problem is not None:
        return _problem(device.problem)
    return Fields(
        (
            ("name", _text(device.name)),
            ("memory", Cell(_size(device.total_memory))),
            ("free memory", Cell(_size(device.free_memory))),
            ("multiprocessors", _number(device.multi_processor_count)),
            *((name.replace("_", " "), _text(value)) for name, value in device.extra.items()),
        )
    )


def _libraries(libraries: tuple[Library, ...]) -> Block:
    rows = (
        Row(
            (
                Cell(library.name, no_wrap=True),
                _state(library),
                _text(library.version) if library.path is not None else EMPTY,
                Cell(library.source or ""),
                EMPTY if library.path is None else _no_wrap(library.path),
            ),
            () if library.problem is None else (_problem(library.problem),),
        )
        for library in libraries
    )
    return Table(("library", "state", "version", "found by", "path"), tuple(rows))


def _state(library: Library) -> Cell:
    if library.problem is not None:
        return Cell("failed", Style.PROBLEM)
    if library.path is None:
        return Cell("not found", Style.DIM)
    return Cell("loaded" if library.is_loaded else "not loaded")


def _runtimes(runtimes: tuple[Runtime, ...]) -> Block:
    if not runtimes:
        return Cell("none is loaded", Style.DIM)
    rows = (
        Row(
            (
                Cell(runtime.name, no_wrap=True),
                _text(runtime.version),
                _number(runtime.threads),
                _no_wrap(runtime.path),
            )
        )
        for runtime in runtimes
    )
    return Table(("runtime", "version", "threads", "path"), tuple(rows))


def _value(flag: Flag) -> Cell:
    return Cell(repr(flag.value), Style.SET if flag.differs else Style.PLAIN)


def _flags(flags: tuple[Flag, ...]) -> Block:
    if not flags:
        return Cell("none", Style.DIM)
    rows = (
        Row(
            (Cell(flag.name, no_wrap=True), _value(flag), Cell(flag.level), _set_by(flag)),
            _override(flag),
        )
        for flag in flags
    )
    return Table(("flag", "value", "level", "set by"), tuple(rows))


def _set_by(flag: Flag) -> Cell:
    return Cell("" if flag.set_by is None else _printable(flag.set_by), no_wrap=True)


def _override(flag: Flag) -> tuple[Cell, ...]:
    if flag.overridden_by is None:
        return ()
    return (Cell(f"effective value {flag.effective!r}, overridden by {flag.overridden_by}"),)


def _environment(variables: tuple[Variable, ...]) -> Block:
    if not variables:
        return Cell("none of the variables that interlock reads is set", Style.DIM)
    rows = (
        Row(
            (Cell(variable.name, no_wrap=True), _no_wrap(variable.value) if variable.value else EMPTY_TEXT),
            () if variable.problem is None else (_problem(variable.problem),),
        )
        for variable in variables
    )
    return Table(("variable", "value"), tuple(rows))


def _memory(device: DeviceSummary) -> tuple[Block, ...]:
    fields = [
        ("events", Cell(str(device.events))),
        ("peak allocated", Cell(f"{_size(device.peak_allocated)} {_after(device.peak_event)}")),
        ("peak reserved", Cell(_size(device.peak_reserved))),
        ("allocated at the end", Cell(_size(device.allocated))),
        ("reserved at the end", Cell(_size(device.reserved))),
    ]
    if device.out_of_memory_errors:
        fields.append(("out of memory errors", Cell(str(device.out_of_memory_errors), Style.PROBLEM)))
    if device.annotations:
        fields.append(("annotations", Cell(str(device.annotations))))
    if device.unknown_events:
        counts = ", ".join(f"{_printable(each.action)} ({each.events})" for each in device.unknown_events)
        fields.append(("unknown events", Cell(counts)))
    blocks: list[Block] = [Fields(tuple(fields))]
    if device.call_sites:
        blocks += [Cell("Call sites at the peak"), _call_sites(device.call_sites, device.peak_allocated)]
        blocks += _omitted(len(device.call_sites))
    if device.segments:
        blocks += [Cell("Segments with the most free memory"), _segments(device.segments)]
        blocks += _omitted(len(device.segments))
    return tuple(blocks)


def _after(event: int) -> str:
    return f"(after event {event})" if event else "(before the first event)"


def _omitted(count: int) -> list[Block]:
    """Return a note if a table does not show all of its rows."""
    omitted = count - _MAX_MEMORY_ROWS
    return [Cell(f"{omitted} more, which --json lists.", Style.DIM)] if omitted > 0 else []


def _call_sites(sites: tuple[CallSite, ...], peak: int) -> Block:
    rows = (
        Row(
            (
                Cell(_size(site.bytes)),
                Cell(share_text(site.bytes, peak)),
                Cell(str(site.blocks)),
                _no_wrap(site.call_site),
            )
        )
        for site in sites[:_MAX_MEMORY_ROWS]
    )
    return Table(("size", "share", "blocks", "call site"), tuple(rows))


def _segments(segments: tuple[SegmentFragmentation, ...]) -> Block:
    rows = (
        Row(
            (
                Cell(segment.address),
                _number(segment.stream),
                Cell(_size(segment.bytes)),
                Cell(_size(segment.free)),
                Cell(_size(segment.largest_free_block)),
                Cell(percent_text(segment.fragmentation)),
            )
        )
        for segment in segments[:_MAX_MEMORY_ROWS]
    )
    columns = ("segment", "stream", "size", "free", "largest free block", "fragmentation")
    return Table(columns, tuple(rows))


def _memory_diff(device: DeviceChange) -> tuple[Block, ...]:
    totals = Table(
        ("total", "before", "after", "change"),
        (
            _size_row("allocated", device.allocated_before, device.allocated_after),
            _count_row("blocks", device.blocks_before, device.blocks_after),
            _size_row("reserved", device.reserved_before, device.reserved_after),
            _count_row("segments", device.segments_before, device.segments_after),
        ),
    )
    blocks: list[Block] = [totals]
    # A call site with other blocks of the same total size is in the second table.
    grown = [change for change in device.call_sites if change.growth > 0]
    others = [change for change in reversed(device.call_sites) if change.growth <= 0]
    for title, changes in (("Call sites that grew", grown), ("Call sites that did not grow", others)):
        if changes:
            blocks += [Cell(title), _changes(changes), *_omitted(len(changes))]
    if not device.call_sites:
        blocks.append(Cell("Each call site has the same bytes and blocks in both snapshots."))
    return tuple(blocks)


def _size_row(name: str, before: int, after: int) -> Row:
    texts = (name, _size(before), _size(after), change_text(after - before))
    return Row(tuple(map(Cell, texts)))


def _count_row(name: str, before: int, after: int) -> Row:
    return Row((Cell(name), Cell(str(before)), Cell(str(after)), Cell(_signed(after - before))))


def _signed(number: int) -> str:
    return f"{number:+}" if number else "0"


def _changes(changes: list[CallSiteChange]) -> Block:
    rows = (
        Row(
            (
                Cell(change_text(change.growth)),
                Cell(_size(change.bytes_before)),
                Cell(_size(change.bytes_after)),
                Cell(_signed(change.blocks_after - change.blocks_before)),
                _no_wrap(change.call_site),
            )
        )
        for change in changes[:_MAX_MEMORY_ROWS]
    )
    return Table(("change", "before", "after", "blocks", "call site"), tuple(rows))
