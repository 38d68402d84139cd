"""Which driver a process uses, and until when it can be chosen."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_python

NONE: dict[str, str] = {"LD_LIBRARY_PATH": ""}


def test_the_host_driver_is_chosen_by_the_program(no_driver: dict[str, str]) -> None:
    code = """
        from interlock import accelerator
        before = accelerator.is_available(), str(accelerator.current_accelerator())
        accelerator.use("host", devices=3, memory=1 << 20)
        memory = accelerator.get_memory_info(2)
        answer = [before, accelerator.device_count(), memory, accelerator.is_available()]
    """
    answer = eval_python(code, env=no_driver)
    assert answer == [[False, "None"], 3, [1 << 20, 1 << 20], True]


@pytest.mark.parametrize(
    ("text", "count"), [("host", 1), ("host:1", 1), ("host:4", 4), ("none", 0), ("host:0", 0), ("", 0)]
)
def test_the_environment_chooses(text: str, count: int, no_driver: dict[str, str]) -> None:
    code = "from interlock import accelerator\nanswer = accelerator.device_count()"
    assert eval_python(code, env=no_driver | {"INTERLOCK_ACCELERATOR": text}) == count


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
    count, current, message = eval_python(code, env={"INTERLOCK_ACCELERATOR": text})
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
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:2"}) == 4


def test_a_choice_can_be_taken_back_before_first_use(no_driver: dict[str, str]) -> None:
    code = """
        from interlock import accelerator
        answer = []
        for name in ("host", "cuda", "host", "none"):
            accelerator.use(name)
            answer.append([accelerator.device_count(), accelerator.why_unavailable() is None])
    """
    assert eval_python(code, env=no_driver) == [[1, True], [0, False], [1, True], [0, False]]


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
    count, message = eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:1"})
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
    assert eval_python(code, env=no_driver) == [error, 0]


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
    current, checked, available, why, message = eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:0"})
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
    (message,) = eval_python(code, env={"INTERLOCK_ACCELERATR": "host"})
    assert "INTERLOCK_ACCELERATOR" in message
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host"}) == []


ASK = """
    import os
    from interlock import accelerator

    def ask():
        found, checked = (
            accelerator.current_accelerator(check_available=check) for check in (False, True)
        )
        return [accelerator.is_available(), accelerator.device_count(), str(found), str(checked)]
"""
NO_DEVICE = [False, 0, "None", "None"]


def test_the_questions_follow_the_environment_until_a_driver_is_in_use(no_driver: dict[str, str]) -> None:
    code = f"""{ASK}
    answer = []
    for text in (None, "host:2", "host:3", "none", "host:0", "hots", "", "host"):
        if text is None:
            os.environ.pop("INTERLOCK_ACCELERATOR", None)
        else:
            os.environ["INTERLOCK_ACCELERATOR"] = text
        assert ask() == ask()
        answer.append(ask())
    """
    two, three, one = ([True, count, "host", "host"] for count in (2, 3, 1))
    without = [False, 0, "host", "None"]
    expected = [NO_DEVICE, two, three, NO_DEVICE, without, NO_DEVICE, NO_DEVICE, one]
    assert eval_python(code, env=no_driver) == expected


def test_the_questions_see_variables_that_c_code_sets(no_driver: dict[str, str]) -> None:
    code = f"""{ASK}
    import ctypes
    libc = ctypes.CDLL(None)
    answer = [ask()]
    libc.setenv(b"INTERLOCK_ACCELERATOR", b"host:2", 1)
    answer.append(ask())
    os.putenv("INTERLOCK_ACCELERATOR", "host:3")
    answer.append(ask())
    libc.unsetenv(b"INTERLOCK_ACCELERATOR")
    answer.append(ask())
    """
    hosts = [[True, count, "host", "host"] for count in (2, 3)]
    assert eval_python(code, env=no_driver) == [NO_DEVICE, *hosts, NO_DEVICE]


def test_the_questions_follow_use_at_once(no_driver: dict[str, str]) -> None:
    code = f"""{ASK}
    answer = [ask()]
    for devices in (2, 0, 5):
        accelerator.use("host", devices=devices)
        answer.append(ask())
    accelerator.use("none")
    answer.append(ask())
    """
    hosts = [[True, 2, "host", "host"], [False, 0, "host", "None"], [True, 5, "host", "host"]]
    assert eval_python(code, env=no_driver) == [NO_DEVICE, *hosts, NO_DEVICE]


def test_the_questions_warn_once_of_each_variable_that_changes_after_first_use() -> None:
    code = f"""{ASK}
    import warnings
    def warned(text):
        os.environ["INTERLOCK_ACCELERATOR"] = text
        counts = []
        for question in (
            accelerator.is_available,
            accelerator.device_count,
            accelerator.current_accelerator,
            accelerator.current_device_index,
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                question()
            counts.append(len(caught))
        return counts
    ask()
    accelerator.current_device_index()
    answer = [ask(), *map(warned, ("host:2", "host:3", "host:3", "host:2", "none")), ask()]
    """
    first, *counts, last = eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:2"})
    assert first == last == [True, 2, "host", "host"]
    assert counts == [[0] * 4, [1, 0, 0, 0], [0] * 4, [1, 0, 0, 0], [1, 0, 0, 0]]


def test_the_questions_are_asked_afresh_in_a_forked_child() -> None:
    code = f"""{ASK}
    import json

    def in_child(work):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                os.write(writing, json.dumps(work()).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as answer:
            told = json.loads(answer.read())
        os.waitpid(process, 0)
        return told

    def other():
        before = ask()
        os.environ["INTERLOCK_ACCELERATOR"] = "host:5"
        accelerator.set_device_index(4)
        return [before, ask(), accelerator.current_device_index()]

    before = [ask(), in_child(other), ask()]
    accelerator.set_device_index(1)
    answer = [*before, in_child(ask), ask(), accelerator.current_device_index()]
    """
    two, five = ([True, count, "host", "host"] for count in (2, 5))
    answer = eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:2"})
    assert answer == [two, [two, five, 4], two, two, two, 1]


def test_the_current_index_is_that_of_the_thread_and_its_scopes() -> None:
    code = """
        import threading
        from interlock import accelerator
        index = accelerator.current_device_index
        answer = [index()]
        with accelerator.device_index(1):
            answer.append(index())
            with accelerator.device_index(2):
                answer.append(index())
            thread = threading.Thread(target=lambda: answer.append(index()))
            thread.start()
            thread.join()
            answer.append(index())
        answer.append(index())
    """
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:3"}) == [0, 1, 2, 0, 1, 0]
