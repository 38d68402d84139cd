"""Sizes of thread pools in scopes, decorators and calls, and pools that refuse a size."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interlock
import numpy
import pytest
from interlock import settings, threads
from interlock.errors import ArgumentError, SettingConflictError, SettingValueError, ThreadPoolWarning

from tests.helpers.fake_libraries import NEEDS_COMPILER
from tests.helpers.subprocess import eval_program
from tests.unit.threads import libraries

assert numpy.__version__, "the import loads OpenBLAS"


def sizes() -> dict[str, int | None]:
    """Return the sizes of the pools that a scope sets."""
    return {pool.name: pool.size for pool in threads.pools() if pool.extent != "start"}


def size() -> int | None:
    return sizes()["openblas.numpy"]


def run(name: str, *arguments: object, **env: str) -> Any:
    return eval_program(f"threads.limits.{name}", *arguments, env=env)


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """Fail if a test leaves a size changed."""
    before = sizes()
    yield
    assert sizes() == before


@pytest.fixture
def two() -> Iterator[None]:
    """All pools with the size 2, which no scope holds."""
    before = sizes()
    threads.set_limits(2, pools=list(before), on_refusal="raise")
    yield
    for name, number in before.items():
        threads.set_limits(number or 1, pools=[name])


def test_limits_sets_every_pool_and_puts_it_back() -> None:
    with threads.limits(3, on_refusal="raise") as scope:
        assert set(sizes().values()) == {3}
        assert (interlock.get_num_threads(), scope.refused) == (3, ())
        assert repr(scope) == "limits(3)"
        assert repr(threads.limits(1, pools=["torch"], on_refusal="ignore")) == "limits(1, pools=['torch'])"
        with threads.limits(1):
            assert set(sizes().values()) == {1}
        assert set(sizes().values()) == {3}


def test_limits_without_a_size_uses_the_budget() -> None:
    with threads.limits():
        assert size() == threads.budget()
    with threads.limits(workers=10_000):
        assert size() == 1


def test_limits_of_named_pools_leaves_the_others(two: None) -> None:
    with threads.limits(3, pools=["openblas"]):
        assert (size(), interlock.get_num_threads()) == (3, 2)
    with threads.limits(3, pools=["openblas.numpy"]):
        assert (size(), interlock.get_num_threads()) == (3, 2)
    with threads.limits(3, pools=iter(["interlock"])):
        assert (size(), interlock.get_num_threads()) == (2, 3)
    # A library that is not loaded has no pool.
    with threads.limits(3, pools=["blis"]):
        assert (size(), interlock.get_num_threads()) == (2, 2)


def test_limits_may_be_entered_again_and_inside_itself(two: None) -> None:
    scope = threads.limits(1)
    for _ in range(2):
        with scope:
            with scope:
                assert size() == 1
            assert size() == 1
        assert size() == 2


def test_limits_is_put_back_after_an_exception(two: None) -> None:
    with pytest.raises(ZeroDivisionError), threads.limits(1):
        1 / 0  # noqa: B018
    assert size() == 2


def test_limits_decorates_functions(two: None) -> None:
    @threads.limits(1)
    def product(count: int) -> list[int | None]:
        """Return sizes."""
        return [size()] * count

    assert size() == 2
    assert product(2) == [1, 1]
    assert product.__doc__ == "Return sizes."
    assert size() == 2


def test_limits_of_a_decorator_have_the_line_of_their_function(two: None) -> None:
    @threads.limits(1, pools=["openblas"])
    async def work() -> str | None:
        return settings.writes(["openblas.numpy.num_threads"])[-1].function

    async def main() -> str | None:
        return await asyncio.create_task(work())

    assert str(asyncio.run(main())).endswith("work")


def test_limits_decorates_generators_and_coroutine_functions(two: None) -> None:
    @threads.limits(1)
    def generate() -> Iterator[int | None]:
        yield size()
        yield size()

    found = []
    for inside in generate():
        found += [inside, size()]
    assert found == [1, 2, 1, 2]

    @threads.limits(1)
    async def wait() -> int | None:
        await asyncio.sleep(0)
        return size()

    async def scope() -> int | None:
        async with threads.limits(1):
            return size()

    assert asyncio.run(wait()) == 1
    assert asyncio.run(scope()) == 1


def in_thread(function: Any) -> Any:
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


def other_scope(number: int, **options: Any) -> int | None:
    with threads.limits(number, **options):
        return size()


def test_limits_of_another_thread_joins_or_is_refused(two: None) -> None:
    with threads.limits(1):
        assert in_thread(lambda: other_scope(1)) == 1
        error = in_thread(lambda: other_scope(3))
        assert isinstance(error, SettingConflictError)
        assert "limits: openblas.numpy.num_threads is held with the value 1 by the limits at" in str(error)
        with pytest.warns(settings_warning()):
            assert in_thread(lambda: other_scope(3, on_conflict="warn")) == 1
        error = in_thread(lambda: other_scope(3, on_conflict="wait", timeout=0.01))
        assert "after waiting for 0.01 s" in str(error)
        assert size() == 1


def settings_warning() -> type[Warning]:
    return interlock.errors.SettingWarning


def test_limits_and_override_hold_one_pool(two: None) -> None:
    with settings.enable("openblas"), settings.override({"openblas.numpy.num_threads": 3}):
        error = in_thread(lambda: other_scope(1))
        assert "is held with the value 3 by the override at" in str(error)
        with threads.limits(1):
            assert size() == 1
        assert size() == 3


def test_set_limits_lasts_until_the_next_write() -> None:
    found = eval_program("threads.limits.set_and_set_again")
    assert found == {"first": [1, 1], "environment": ["1", "1"], "second": [2, 2], "refused": []}


def test_fork_waits_for_a_write_of_another_thread() -> None:
    assert run("fork_during_a_write") is False


def test_set_limits_is_refused_while_other_code_holds_a_pool(two: None) -> None:
    with threads.limits(1):
        error = in_thread(lambda: threads.set_limits(3))
        assert isinstance(error, SettingConflictError)
        assert str(error).startswith(
            "set_limits: openblas.numpy.num_threads is held with the value 1 by the "
        )
        assert size() == 1


@pytest.mark.parametrize("function", [threads.limits, threads.set_limits])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": 0}, ArgumentError, 'size must be an int from 1 to 2**31 - 1 or "budget", got 0'),
        ({"size": -2}, ArgumentError, 'size must be an int from 1 to 2**31 - 1 or "budget", got -2'),
        ({"size": 2**70}, ArgumentError, f'size must be an int from 1 to 2**31 - 1 or "budget", got {2**70}'),
        ({"size": 1.5}, TypeError, 'size must be an int from 1 to 2**31 - 1 or "budget", got 1.5'),
        ({"size": True}, TypeError, 'size must be an int from 1 to 2**31 - 1 or "budget", got True'),
        ({"size": "all"}, TypeError, "size must be an int from 1 to 2**31 - 1 or \"budget\", got 'all'"),
        ({"size": 1, "workers": 2}, ArgumentError, 'workers must be None unless size is "budget", got 2'),
        ({"pools": "openblas"}, TypeError, "pools must be an iterable of str or None, got 'openblas'"),
        ({"pools": [1]}, TypeError, "pools must be an iterable of str or None, got 1 in it"),
        (
            {"on_refusal": "stop"},
            ArgumentError,
            'on_refusal must be "raise", "warn" or "ignore", got \'stop\'',
        ),
    ],
)
def test_limits_refuses_invalid_arguments(
    function: Any, arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        function(**arguments)
    assert str(caught.value) == f"{function.__name__}: {message}"


def test_limits_refuses_an_unknown_pool() -> None:
    with pytest.raises(ArgumentError) as caught, threads.limits(1, pools=["openblass"]):
        pass
    assert str(caught.value).startswith("limits: pools must name thread pools (openblas.numpy, ")
    assert str(caught.value).endswith("""), got 'openblass'; did you mean "openblas"?""")


@pytest.mark.parametrize("call", [threads.limits, threads.set_limits])
@pytest.mark.parametrize(
    ("name", "similar"),
    [("openblas.nunpy", "openblas.numpy"), ("interlock.x", "interlock"), ("blis.x", "blis"), ("", None)],
)
def test_pool_that_no_library_has_is_refused(call: Any, name: str, similar: str | None) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(1, pools=["interlock", "openblas", name]).__enter__()
    hint = f'; did you mean "{similar}"?' if similar else ""
    assert str(caught.value).endswith(f"), got {name!r}{hint}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_conflict": "no"}, 'limits: on_conflict must be "raise", "wait" or "warn", got \'no\''),
        ({"timeout": 1}, 'limits: timeout must be None unless on_conflict is "wait"'),
    ],
)
def test_limits_refuses_invalid_options_of_conflicts(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match="limits: ") as caught:
        threads.limits(1, **arguments)
    assert str(caught.value) == message


@NEEDS_COMPILER
def test_scope_sets_the_other_pools_if_one_refuses(tmp_path: Path) -> None:
    path = libraries.openblas(tmp_path, most=2)
    found = run("refused_by_a_small_build", path)
    reason = "OpenBLAS accepts at most 2 threads in this build and on this machine"
    assert found["inside"] == [2, 3]
    assert found["refused"] == [["openblas.libopenblas", reason]]
    assert found["warnings"] == [f"limits: openblas.libopenblas: {reason}"]
    assert found["file"] == "limits.py"
    assert found["raised"].endswith(f"openblas.libopenblas.num_threads does not accept 3: {reason}")
    assert found["after"] == [2, found["before"][1]]


@NEEDS_COMPILER
def test_override_of_a_refused_size_leaves_the_size(tmp_path: Path) -> None:
    path = libraries.openblas(tmp_path, most=6)
    found = run("override_refused", path)
    assert found["message"].endswith(
        "openblas.libopenblas.num_threads does not accept 9: OpenBLAS accepts at most 6 "
        "threads in this build and on this machine"
    )
    assert found["sizes"] == [4, 4]


@NEEDS_COMPILER
def test_openblas_without_threads_says_so(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libopenblas.so.0", libraries.OPENBLAS % (1, 1, 0))
    assert run("refusals", path, 2) == [["openblas.libopenblas", "this build of OpenBLAS has one thread"]]


def test_openblas_that_another_thread_controls_says_so() -> None:
    (found,) = run("refused_by_a_controlling_thread")
    assert found[0] == "openblas.numpy"
    assert found[1] == (
        "OpenBLAS has one pool for the process, and threadpoolctl lets thread controller control it until "
        "its threadpool_limits ends: it keeps 1"
    )


def test_pools_of_modules_are_set_and_say_what_they_allow() -> None:
    found = run("limit_fakes")
    assert found["inside"] == {"numexpr": 2, "torch": 2}
    assert found["after"] == {"numexpr": 3, "torch": 5}
    assert found["silent"] == []
    reason = "numexpr accepts at most 8 threads: NUMEXPR_MAX_THREADS, which it reads at its import"
    assert found["numexpr"] == [["numexpr", reason]]
    assert [pool for pool, _ in found["fixed"]] == ["torch.interop", "rayon"]
    assert "accepts one write, before the threads start" in found["fixed"][0][1]
    assert "reads RAYON_NUM_THREADS at its first use only" in found["fixed"][1][1]
    assert found["warned"] == [f"limits: {pool}: {reason}" for pool, reason in found["fixed"]]
    assert found["variable"] == ["2", None]


def test_interop_threads_of_torch_accept_one_write_of_set_limits() -> None:
    found = run("interop_of_fakes")
    refused = ["torch.interop", "PyTorch accepts one write, before the threads start."]
    text = f"{refused[0]}: {refused[1]}"
    assert found == {
        "library in a scope": [[], 7, []],
        "pool in a scope": [[refused], 7, [f"limits: {text}"]],
        "present size in a scope": [[], 7, []],
        "first write": [[], 3, []],
        "equal write": [[], 3, []],
        "second write": [[refused], 3, [f"set_limits: {text}"]],
        "ignored write": [[refused], 3, []],
        "raised": [f"set_limits: {text}", 0, 3],
    }


def test_refusal_that_raises_changes_nothing() -> None:
    found = run("raise_refusals")
    text = "torch.interop: PyTorch accepts one write, before the threads start."
    assert found == [
        ["limits", f"limits: {text}", {"numexpr": 3, "torch": 5}],
        ["set_limits", f"set_limits: {text}", {"numexpr": 3, "torch": 5}],
        ["numexpr", "SettingValueError", {"numexpr": 3, "torch": 5}],
        ["set numexpr", "SettingValueError", {"numexpr": 3, "torch": 5}],
        ["warning", "ThreadPoolWarning", {"numexpr": 3, "torch": 5}],
    ]


def test_old_onnxruntime_refuses_and_names_the_option() -> None:
    assert run("old_onnxruntime") == [
        [
            "onnxruntime",
            "Version 1.20.1 reads no variable: pass SessionOptions with intra_op_num_threads.",
        ]
    ]


@NEEDS_COMPILER
def test_pools_of_threads_are_set_for_this_thread_only(tmp_path: Path) -> None:
    paths = [
        libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP),
        libraries.build(tmp_path, "libmkl_rt.so.3", libraries.MKL),
    ]
    found = run("limit_of_one_thread", *paths)
    assert found == {"here": [1, 1], "there": [4, 4], "other scope": [2, 2], "still": [1, 1], "after": [4, 4]}


@NEEDS_COMPILER
@pytest.mark.parametrize(("values", "on_conflict"), [([1], "raise"), ([1, 2, 3], "raise"), ([1, 2], "wait")])
def test_overlapping_scopes_of_many_threads_have_their_sizes(
    tmp_path: Path, values: list[int], on_conflict: str
) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    found = run("overlap_threads", path, values, on_conflict)
    assert (found["wrong"], found["rounds"], found["restored"]) == ([], 360, True)
    assert found["refused"] == 0 or (len(values) > 1 and on_conflict == "raise")


@NEEDS_COMPILER
def test_interlock_and_torch_do_not_change_openmp_after_the_scope(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    found = run("put_openmp_back", path)
    assert found == {"inside": 1, "after": 7, "interlock": True}


def test_limits_does_not_list_settings_that_were_not_enabled() -> None:
    found = run("limit_without_enabling")
    assert found["listed"] == [[], []]
    assert found["write"] == [2, 1, found["file"]]


def test_limits_warns_only_of_refusals(two: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ThreadPoolWarning)
        with threads.limits(1):
            assert size() == 1


def test_refused_size_names_the_setting() -> None:
    error = SettingValueError("message", setting="mylib.level")
    assert (str(error), error.setting) == ("message", "mylib.level")
    assert SettingValueError("message").setting is None
