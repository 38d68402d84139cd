"""Which driver a process uses, and until when it can be chosen."""

from __future__ import annotations

import pytest

from tests import child

NONE: dict[str, str] = {"LD_LIBRARY_PATH": ""}


def test_the_host_driver_is_chosen_by_the_program(no_driver: dict[str, str]) -> None:
    code = """
        from interlock import accelerator
        before = accelerator.is_available(), str(accelerator.current_accelerator())
        accelerator.use("host", devices=3, memory=1 << 20)
        memory = accelerator.get_memory_info(2)
        answer = [before, accelerator.device_count(), memory, accelerator.is_available()]
    """
    answer = child.value(code, env=no_driver)
    assert answer == [[False, "None"], 3, [1 << 20, 1 << 20], True]


@pytest.mark.parametrize(
    ("text", "count"), [("host", 1), ("host:1", 1), ("host:4", 4), ("none", 0), ("host:0", 0), ("", 0)]
)
def test_the_environment_chooses(text: str, count: int, no_driver: dict[str, str]) -> None:
    code = "from interlock import accelerator\nanswer = accelerator.device_count()"
    assert child.value(code, env=no_driver | {"INTERLOCK_ACCELERATOR": text}) == count


@pytest.mark.parametrize("text", ["host:x", "host:-1", "host:129", "hots", "host:1:2", "cuda:0"])
def test_what_the_environment_misspells_is_said_and_nothing_else_is_used(text: str) -> None:
    code = """
        import interlock
        from interlock import accelerator, errors
        try:
            interlock.Stream()
        except errors.NoAcceleratorError as error:
            message = str(error)
        answer = [accelerator.device_count(), accelerator.current_accelerator(), message]
    """
    count, current, message = child.value(code, env={"INTERLOCK_ACCELERATOR": text})
    assert (count, current) == (0, None)
    assert "INTERLOCK_ACCELERATOR" in message
    assert text in message


def test_the_program_goes_before_the_environment() -> None:
    code = """
        from interlock import accelerator
        accelerator.use("host", devices=3)
        accelerator.use("host", devices=4)
        answer = accelerator.device_count()
    """
    assert child.value(code, env={"INTERLOCK_ACCELERATOR": "host:2"}) == 4


def test_a_choice_can_be_taken_back_before_first_use(no_driver: dict[str, str]) -> None:
    code = """
        from interlock import accelerator
        answer = []
        for name in ("host", "cuda", "host", "none"):
            accelerator.use(name)
            answer.append([accelerator.device_count(), accelerator.why_unavailable() is None])
    """
    assert child.value(code, env=no_driver) == [[1, True], [0, False], [1, True], [0, False]]


def test_a_driver_is_fixed_at_first_use_and_not_by_questions() -> None:
    code = """
        import interlock
        from interlock import accelerator, errors
        accelerator.device_count(), accelerator.is_available(), accelerator.current_accelerator()
        accelerator.why_unavailable(), interlock.device(0)
        accelerator.use("host", devices=2)
        interlock.Stream()
        try:
            accelerator.use("host", devices=3)
        except errors.DriverInUseError as error:
            message = str(error)
        answer = [accelerator.device_count(), message]
    """
    count, message = child.value(code, env={"INTERLOCK_ACCELERATOR": "host:1"})
    assert count == 2
    assert "first use" in message


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ('use("hots")', "DeviceError"),
        ('use("")', "DeviceError"),
        ('use("host", devices=129)', "ArgumentError"),
        ('use("host", devices=-1)', "ArgumentError"),
        ('use("host", memory=-1)', "ArgumentError"),
        ('use("host", devices=True)', "TypeError"),
        ('use("host", devices="2")', "TypeError"),
        ('use("other", devices=2)', "TypeError"),
        ("use(1)", "TypeError"),
    ],
)
def test_a_wrong_choice_is_refused_and_chooses_nothing(
    call: str, error: str, no_driver: dict[str, str]
) -> None:
    code = f"""
        from interlock import accelerator
        try:
            accelerator.{call}
        except Exception as error:
            answer = [type(error).__name__, accelerator.device_count()]
    """
    assert child.value(code, env=no_driver) == [error, 0]


def test_a_chosen_driver_without_devices_is_an_accelerator_that_is_not_available() -> None:
    code = """
        import interlock
        from interlock import accelerator
        told = [str(accelerator.current_accelerator(check_available=check)) for check in (False, True)]
        try:
            accelerator.current_stream()
        except interlock.errors.NoAcceleratorError as error:
            answer = [*told, accelerator.is_available(), accelerator.why_unavailable(), str(error)]
    """
    current, checked, available, why, message = child.value(code, env={"INTERLOCK_ACCELERATOR": "host:0"})
    assert (current, checked, available) == ("host", "None", False)
    assert why == "host has no devices"
    assert why in message


def test_a_misspelt_variable_is_warned_of_with_the_right_name() -> None:
    code = """
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import interlock
            interlock.backends.cudnn.enabled
        answer = [str(warning.message) for warning in caught]
    """
    (message,) = child.value(code, env={"INTERLOCK_ACCELERATR": "host"})
    assert "INTERLOCK_ACCELERATOR" in message
    assert child.value(code, env={"INTERLOCK_ACCELERATOR": "host"}) == []
