"""The probe of NVIDIA's driver library: absent, a stub, without devices, too old, ready; it never panics."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import child
from tests.accelerator import fake_driver
from tests.conftest import a_driver_is_installed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver library of Linux is looked for")

ASK = """
    import json
    from interlock import accelerator
    counts = [accelerator.device_count() for _ in range(2)]
    current = accelerator.current_accelerator()
    current = current and str(current)
    print(json.dumps([accelerator.is_available(), counts, accelerator.why_unavailable(), current]))
"""


def ask(env: dict[str, str]) -> list[Any]:
    done = child.run(ASK, env=env)
    assert done.code == 0, done.stderr
    assert "panicked" not in done.stderr
    assert done.stderr == ""
    answer: list[Any] = json.loads(done.stdout)
    return answer


def test_without_the_library_nothing_is_available_and_the_sentence_names_it() -> None:
    if a_driver_is_installed():
        pytest.skip("a real driver library is installed here, so it can not be missing")
    available, counts, why, current = ask({"LD_LIBRARY_PATH": ""})
    assert (available, counts, current) == (False, [0, 0], None)
    assert "libcuda.so.1" in why
    assert "\n" not in why


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ({"init": 34}, "stub"),
        ({"init": 100}, "device"),
        ({"init": 0, "count": 0}, "device"),
        ({"init": 0, "version": 11_040}, "11.4"),
        ({"init": 999}, "999"),
        ({"init": 800}, "not"),
    ],
    ids=["a stub", "no device", "a count of zero", "too old", "unknown error", "not permitted"],
)
def test_a_driver_that_can_not_be_used_is_no_accelerator_and_says_why(
    answers: dict[str, int], word: str, tmp_path: Path
) -> None:
    available, counts, why, current = ask(fake_driver.build(tmp_path, **answers))
    assert (available, counts, current) == (False, [0, 0], None)
    assert word in why


def test_a_library_that_is_no_driver_is_no_accelerator(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    available, counts, why, _ = ask({"LD_LIBRARY_PATH": str(tmp_path)})
    assert (available, counts) == (False, [0, 0])
    assert "libcuda.so.1" in why


def test_a_driver_with_two_devices_is_an_accelerator(tmp_path: Path) -> None:
    available, counts, why, current = ask(fake_driver.build(tmp_path, count=2))
    assert (available, counts, why, current) == (True, [2, 2], None, "cuda")


def test_importing_does_not_touch_the_driver(tmp_path: Path) -> None:
    code = """
        import interlock
        from pathlib import Path
        answer = "libcuda" in Path("/proc/self/maps").read_text()
        interlock.accelerator.is_available()
    """
    assert child.value(code, env=fake_driver.build(tmp_path)) is False


def test_a_bare_index_is_a_device_of_the_accelerator(tmp_path: Path) -> None:
    code = """
        import interlock
        answer = [str(interlock.device(0)), str(interlock.device(1))]
    """
    assert child.value(code, env=fake_driver.build(tmp_path, count=2)) == ["cuda:0", "cuda:1"]
