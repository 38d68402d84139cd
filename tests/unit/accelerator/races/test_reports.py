"""Reports of races: their texts, counts, and how detection is switched on."""

from __future__ import annotations

import re
import shutil
import sys
from inspect import currentframe
from pathlib import Path

import interlock
import pytest
from interlock import Stream, accelerator, testing
from interlock.accelerator.memory import Buffer

from tests.helpers.subprocess import PROGRAMS, run_command, run_program

pytestmark = [pytest.mark.usefixtures("devices"), pytest.mark.interlock_races("planted")]
PAGE = Path(__file__).parents[4] / "docs" / "races.md"
ADDRESS = re.compile(r"0x[0-9a-f]+")


def race_once(writer: Stream, reader: Stream, buffer: Buffer) -> None:
    buffer.fill_(1, stream=writer)
    buffer.copy_to(bytearray(buffer.nbytes), stream=reader)


def new_streams() -> tuple[Stream, Stream, Buffer]:
    writer, reader = Stream(dedicated=True), Stream(dedicated=True)
    return writer, reader, Buffer(64, stream=writer)


def test_page_shows_what_its_program_prints(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(?:python|console)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    program, (command, _, wanted) = blocks[0], blocks[1].partition("\n")
    assert command == "$ python pipeline.py"
    (tmp_path / "pipeline.py").write_text(program)
    done = run_command([sys.executable, str(tmp_path / "pipeline.py")])
    assert ADDRESS.sub("0x", done.stdout.replace(str(tmp_path) + "/", "")) == ADDRESS.sub("0x", wanted)


def test_order_that_the_report_asks_for_ends_the_race(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "pipeline.py").write_text(blocks[0].replace("# Missing: ", ""))
    done = run_command([sys.executable, str(tmp_path / "pipeline.py")])
    assert (done.code, done.stdout) == (0, "")


def test_race_has_both_accesses() -> None:
    writer, reader, buffer = new_streams()
    with testing.detect_races() as races:
        race_once(writer, reader, buffer)
    (race,) = races
    assert race.first.operation.startswith("fill on ")
    assert race.second.operation.startswith("copy from ")
    assert race.first.bytes == race.second.bytes == range(buffer.data_ptr(), buffer.data_ptr() + 64)
    assert race.first.stream == f"stream {writer.stream_id} of {buffer.device}"
    assert (race.first.thread, race.allocation, race.count) == (None, None, 1)
    assert race.first.line == race.first.stack[0].partition(" in ")[0]
    assert race.first.line.startswith(__file__)
    assert str(race).endswith(f"missing: {race.missing}")


def test_destroyed_streams_are_named() -> None:
    writer, reader, buffer = new_streams()
    names = [f"stream {each.stream_id} of {buffer.device}, which was destroyed" for each in (writer, reader)]
    with testing.detect_races() as races:
        race_once(writer, reader, buffer)
        accelerator.synchronize()
        del writer, reader, buffer
    (race,) = races
    what, _, advice = race.missing.partition(": ")
    assert what == f"{names[1]} does not wait for {race.first.operation} ({names[0]})"
    assert advice.startswith(
        "record an event on its stream after it and let the other stream wait for the event"
    )


def test_races_of_the_same_lines_are_one() -> None:
    writer, reader, buffer = new_streams()
    with testing.detect_races() as races:
        for _ in range(10):
            race_once(writer, reader, buffer)
            # Otherwise a late fill meets only the last of several copies.
            accelerator.synchronize()
    (race,) = races
    assert race.count == 10
    assert "found 10 times" in str(race)


def test_update_adds_the_races_so_far() -> None:
    writer, reader, buffer = new_streams()
    with testing.detect_races() as races:
        race_once(writer, reader, buffer)
        assert races == []
        races.update()
        assert len(races) == 1
    races.update()
    assert len(races) == 1


def test_nested_detections_have_lists_of_their_own() -> None:
    writer, reader, buffer = new_streams()
    detection = testing.detect_races()
    with detection as outer:
        with detection as inner:
            race_once(writer, reader, buffer)
        with testing.detect_races() as later:
            pass
    assert (len(outer), len(inner), len(later)) == (1, 1, 0)


def test_race_that_a_nested_detection_finds_again_is_one() -> None:
    writer, reader, buffer = new_streams()
    with testing.detect_races() as outer:
        race_once(writer, reader, buffer)
        accelerator.synchronize()
        with testing.detect_races() as inner:
            race_once(writer, reader, buffer)
    assert [race.count for race in outer] == [2]
    assert [race.count for race in inner] == [1]


def test_use_after_free_of_a_tensor_has_the_line_of_its_release() -> None:
    stream = Stream(dedicated=True)

    def allocate() -> tuple[int, int]:
        with stream:
            tensor = interlock.ones(64, device=stream.device)
        return tensor.data_ptr(), tensor.nbytes

    def drop(tensors: list[interlock.Tensor]) -> None:
        tensors.clear()

    with testing.detect_races() as races:
        # At the return of a function, the line of the caller runs.
        returned, here = allocate(), currentframe().f_lineno  # type: ignore[union-attr]
        accelerator.launch(stream, accelerator.declare_uses(int, reads=[returned]))
        stream.synchronize()
        races.update()
        (race,) = races
        assert (race.first.access, race.first.line) == ("release", f"{__file__}:{here}")

        with stream:
            tensors = [interlock.ones(4096, device=stream.device)]
        cleared = accelerator.declare_uses(int, reads=[(tensors[0].data_ptr(), tensors[0].nbytes)])
        drop(tensors)
        accelerator.launch(stream, cleared)
    line = drop.__code__.co_firstlineno + 1
    assert [race.first.line for race in races[1:]] == [f"{__file__}:{line}"]


def test_work_before_the_detection_is_not_observed() -> None:
    writer, reader, buffer = new_streams()
    buffer.fill_(1, stream=writer)
    with testing.detect_races() as races:
        buffer.copy_to(bytearray(64), stream=reader)
    assert races == []


def test_exception_of_the_block_is_not_replaced() -> None:
    with pytest.raises(ZeroDivisionError), testing.detect_races():
        raise ZeroDivisionError


def test_poison_shows_in_new_and_freed_memory() -> None:
    stream = Stream(dedicated=True)
    with testing.detect_races(poison=True) as races, stream:
        buffer = Buffer(64, stream=stream)
        assert bytes(buffer) == bytes([0xCB]) * 64
        buffer.fill_(1, stream=stream)
        address = buffer.data_ptr()
        del buffer
        again = Buffer(64, stream=stream)
        assert again.data_ptr() == address
        assert bytes(again) == bytes([0xCB]) * 64
    assert races == []


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: testing.detect_races(poison=2).__enter__(), TypeError, "testing.detect_races: poison"),
        (lambda: accelerator.declare_uses(1), TypeError, "declare_uses: function must be callable, got 1"),
        (lambda: accelerator.declare_uses(int, reads=[b""]), TypeError, "each element must be a Buffer"),
        (lambda: accelerator.declare_uses(int, writes=[(-1, 2)]), ValueError, "got (-1, 2)"),
        (lambda: accelerator.declare_uses(int, writes=[(1, 2**64)]), ValueError, "from 0 to 2**64 - 1"),
        (
            lambda: accelerator.declare_uses(int, reads=1),
            TypeError,
            "reads must be an iterable of memory, got 1",
        ),
        (lambda: testing.detect_races().__exit__(None, None, None), RuntimeError, "without being entered"),
    ],
)
def test_wrong_arguments_are_refused(make: object, error: type[Exception], text: str) -> None:
    assert callable(make)
    with pytest.raises(error, match=re.escape(text)):
        make()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("1", "interlock: 1 race found (INTERLOCK_DETECT_RACES=1)"),
        ("poison", "interlock: 1 race found"),
        ("0", ""),
        ("yes", "FlagEnvironmentWarning: INTERLOCK_DETECT_RACES is ignored: it must be 0, 1 or poison"),
    ],
)
def test_environment_variable_prints_races_at_exit(value: str, wanted: str) -> None:
    done = run_program("accelerator.races.race_once", env={"INTERLOCK_DETECT_RACES": value})
    assert done.code == 0
    assert wanted in done.stderr
    assert ("missing:" in done.stderr) == (value in ("1", "poison"))
    assert "is ignored: there is no variable" not in done.stderr
    # A warning is reported at the import of the program.
    assert "site-packages" not in done.stderr


def test_pytest_option_fails_tests_whose_fixtures_race(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "accelerator" / "racy_fixtures.py", tmp_path / "test_racy.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    assert "1 failed, 6 passed" in run_command(command).stdout
    done = run_command([*command, "--interlock-races"])
    summary = re.findall(r"^(FAILED|ERROR) .*::(\w+)", done.stdout, re.MULTILINE)
    assert summary == [
        ("FAILED", "test_filled"),
        ("FAILED", "test_racing"),
        ("FAILED", "test_racing_module"),
        ("FAILED", "test_failing"),
        ("ERROR", "test_racing_at_end"),
    ]
    # The race of a test that fails otherwise is not reported.
    assert done.stdout.count("\nrace on 64 bytes") == 4


def test_pytest_option_fails_tests_with_races(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "accelerator" / "racy_tests.py", tmp_path / "test_racy.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    assert "3 passed" in run_command(command).stdout
    done = run_command([*command, "--interlock-races"])
    assert "1 failed, 2 passed" in done.stdout
    assert "\nrace on 64 bytes" in done.stdout
    assert "/_pytest/" not in done.stdout
    assert "missing: stream 2 of host:0 does not wait" in done.stdout
