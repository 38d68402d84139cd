"""The driver of a process, which can be selected until first use."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program, eval_python

NONE: dict[str, str] = {"LD_LIBRARY_PATH": ""}


def test_host_driver_is_chosen_by_the_program(no_driver: dict[str, str]) -> None:
    answer = eval_program("accelerator.drivers.use_the_host_driver", env=no_driver)
    assert answer == [[False, "None"], 3, [1 << 20, 1 << 20], True]


@pytest.mark.parametrize(
    ("text", "count"), [("host", 1), ("host:1", 1), ("host:4", 4), ("none", 0), ("host:0", 0), ("", 0)]
)
def test_environment_chooses(text: str, count: int, no_driver: dict[str, str]) -> None:
    code = "from interlock import accelerator\nresult = accelerator.device_count()"
    assert eval_python(code, env=no_driver | {"INTERLOCK_ACCELERATOR": text}) == count


@pytest.mark.parametrize(("name", "count"), [("host:3", 3), ("host:0", 0), ("host", 1)])
def test_use_accepts_a_number_of_devices_in_the_name(
    name: str, count: int, no_driver: dict[str, str]
) -> None:
    code = (
        f"from interlock import accelerator\naccelerator.use({name!r})\nresult = accelerator.device_count()"
    )
    assert eval_python(code, env=no_driver) == count


@pytest.mark.parametrize("text", ["host:x", "host:-1", "host:129", "hots", "host:1:2", "cuda:0"])
def test_misspelt_environment_value_is_reported_and_selects_no_driver(text: str) -> None:
    count, current, message = eval_program(
        "accelerator.drivers.misspelt_environment_value_is_reported_and_selects_no_driver",
        env={"INTERLOCK_ACCELERATOR": text},
    )
    assert (count, current) == (0, None)
    assert "INTERLOCK_ACCELERATOR" in message
    assert text in message


def test_use_overrides_the_environment() -> None:
    code = """
        from interlock import accelerator
        accelerator.use("host", devices=3)
        accelerator.use("host", devices=4)
        result = accelerator.device_count()
    """
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:2"}) == 4


def test_use_can_be_undone_before_first_use(no_driver: dict[str, str]) -> None:
    program = "accelerator.drivers.use_several_drivers_before_first_use"
    assert eval_program(program, env=no_driver) == [[1, True], [0, False], [1, True], [0, False]]


def test_driver_is_fixed_at_first_use_and_not_by_queries() -> None:
    count, message = eval_program(
        "accelerator.drivers.driver_is_fixed_at_first_use_and_not_by_queries",
        env={"INTERLOCK_ACCELERATOR": "host:1"},
    )
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
def test_use_refuses_an_unknown_driver_and_selects_none(
    call: str, error: str, no_driver: dict[str, str]
) -> None:
    assert eval_program("accelerator.drivers.use_with_wrong_arguments", call, env=no_driver) == [error, 0]


def test_selected_driver_without_devices_is_unavailable() -> None:
    current, checked, available, why, message = eval_program(
        "accelerator.drivers.selected_driver_without_devices_is_unavailable",
        env={"INTERLOCK_ACCELERATOR": "host:0"},
    )
    assert (current, checked, available) == ("host", "None", False)
    assert why == 'the driver "host" has no devices'
    assert why in message


def test_misspelt_variable_warns_with_the_right_name() -> None:
    (message,) = eval_program(
        "backends.imports.misspelt_variable_warns_with_the_right_name",
        env={"INTERLOCK_ACCELERATR": "host"},
    )
    assert "INTERLOCK_ACCELERATOR" in message
    assert (
        eval_program(
            "backends.imports.misspelt_variable_warns_with_the_right_name",
            env={"INTERLOCK_ACCELERATOR": "host"},
        )
        == []
    )


NO_DEVICE = [False, 0, "None", "None"]


def test_queries_follow_the_environment_until_a_driver_is_initialized(no_driver: dict[str, str]) -> None:
    two, three, one = ([True, count, "host", "host"] for count in (2, 3, 1))
    without = [False, 0, "host", "None"]
    expected = [NO_DEVICE, two, three, NO_DEVICE, without, NO_DEVICE, NO_DEVICE, one]
    assert (
        eval_program(
            "accelerator.drivers.queries_follow_the_environment_until_a_driver_is_initialized", env=no_driver
        )
        == expected
    )


def test_queries_see_variables_set_by_c_code(no_driver: dict[str, str]) -> None:
    hosts = [[True, count, "host", "host"] for count in (2, 3)]
    assert eval_program("accelerator.drivers.queries_see_variables_set_by_c_code", env=no_driver) == [
        NO_DEVICE,
        *hosts,
        NO_DEVICE,
    ]


def test_queries_follow_use_immediately(no_driver: dict[str, str]) -> None:
    hosts = [[True, 2, "host", "host"], [False, 0, "host", "None"], [True, 5, "host", "host"]]
    assert eval_program("accelerator.drivers.queries_follow_use_immediately", env=no_driver) == [
        NO_DEVICE,
        *hosts,
        NO_DEVICE,
    ]


def test_queries_warn_once_of_each_variable_changed_after_first_use() -> None:
    first, *counts, last = eval_program(
        "accelerator.drivers.queries_warn_once_of_each_variable_changed_after_first_use",
        env={"INTERLOCK_ACCELERATOR": "host:2"},
    )
    assert first == last == [True, 2, "host", "host"]
    assert counts == [[0] * 4, [1, 0, 0, 0], [0] * 4, [1, 0, 0, 0], [1, 0, 0, 0]]


def test_queries_are_reevaluated_in_a_forked_child() -> None:
    two, five = ([True, count, "host", "host"] for count in (2, 5))
    answer = eval_program(
        "accelerator.drivers.queries_are_reevaluated_in_a_forked_child",
        env={"INTERLOCK_ACCELERATOR": "host:2"},
    )
    assert answer == [two, [two, five, 4], two, two, two, 1]


def test_current_index_follows_the_thread_and_its_scopes() -> None:
    assert eval_program(
        "accelerator.drivers.current_index_follows_the_thread_and_its_scopes",
        env={"INTERLOCK_ACCELERATOR": "host:3"},
    ) == [0, 1, 2, 0, 1, 0]


def test_races_of_another_driver_are_refused(driver: str, devices: tuple[str, ...]) -> None:
    from interlock import errors, testing

    if driver == "host":
        with testing.detect_races() as races:
            pass
        assert races == []
        return
    with pytest.raises(errors.UnsupportedError, match=r"testing\.detect_races is not supported on cuda"):
        testing.detect_races().__enter__()
