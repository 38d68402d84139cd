"""What a test may leave changed is named, with the line, and put back."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from tests.unit.pytest_plugin.run import FAKE_TORCH, at, program, run

pytest_plugins = "pytester"

# Not imported here: `pytester` forgets modules that are imported while a test uses it.
needs_pools = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("numpy", "threadpoolctl")),
    reason="needs NumPy and threadpoolctl",
)


def test_environment_variables_are_named_with_their_lines(pytester: pytest.Pytester) -> None:
    path = program(pytester, "environment")
    assert run(pytester).left == {
        "test_set": [f"environ.A: None -> '1', written at {at(path, 'test_set', 'environ')}"],
        "test_removed": [
            f"environ.PRESENT: <hidden> -> None, written at {at(path, 'test_removed', 'environ')}"
        ],
        "test_changed": [
            f"environ.PRESENT: <hidden> -> <hidden>, written at {at(path, 'test_changed', 'environ')}"
        ],
        "test_raising_monkeypatch": [
            f"environ.B: None -> '1', written at {at(path, 'test_raising_monkeypatch', 'setenv')}"
        ],
        "test_bytes": [f"environ.C: None -> '1', written at {at(path, 'test_bytes', 'environ')}"],
    }


def test_state_of_interlock_is_named_with_lines_while_it_is_traced(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_DEBUG", "1")
    path = program(pytester, "own_state")
    done = run(pytester)
    assert done.outcomes == {"passed": 8, "errors": 7}
    flag = "interlock.backends.cudnn.benchmark: False (not assigned) -> True"
    assert done.left["test_flag"] == [f"{flag}, written at {at(path, 'test_flag', 'benchmark')}"]
    for test in ("test_scope", "test_scope_of_flags", "test_scope_that_changes_nothing"):
        entered = at(path, test, "__enter__")
        assert done.left[test] == [f"a scope of interlock that was entered at {entered} was left open"]


def test_state_of_interlock_is_named_without_lines_otherwise(pytester: pytest.Pytester) -> None:
    program(pytester, "own_state")
    done = run(pytester)
    assert done.outcomes == {"passed": 8, "errors": 7}
    assert "INTERLOCK_DEBUG=1" in done.left["test_flag"][0]
    assert done.left["test_scope"][0].startswith("scopes of interlock that were left open: 1;")
    (mode,) = done.left["test_mode"]
    assert mode == "interlock.capture(): grad=True -> grad=False, by an unknown line"
    (defaults,) = done.left["test_defaults"]
    assert defaults.startswith("interlock.state.process_defaults().device_index: None -> 1")


def test_memory_limits_are_named_and_put_back(pytester: pytest.Pytester) -> None:
    program(pytester, "memory_limits")
    done = run(pytester)
    name, by = "interlock.accelerator.memory.get", "by an unknown line"
    assert done.left == {
        "test_first_use": [f"{name}_limit(0): None -> 16777216, {by}"],
        "test_limits": [
            f"{name}_cache_limit(0): None -> 4194304, {by}",
            f"{name}_limit(1): 33554432 -> 8388608, {by}",
        ],
    }, done.output
    assert done.outcomes == {"passed": 3, "errors": 2}
    assert run(pytester, mode="restore").outcomes == {"passed": 3}


def test_options_of_the_process_are_named_and_put_back(pytester: pytest.Pytester) -> None:
    path = program(pytester, "process_options")
    done = run(pytester)
    memory, by = "interlock.accelerator.memory", "by an unknown line"
    pause = "the pause of interlock.testing.FaultInjector.pause_copies"
    assert done.left == {
        "test_config": [f"{memory}.set_config(): None -> {{'max_split_size_mb': 64}}, {by}"],
        "test_history": [f"{memory}.history(): None -> 'recording 1', {by}"],
        "test_recorded": [f"{memory}.history(): None -> 'recording 3', {by}"],
        "test_pause": [f"{pause} at {at(path, 'test_pause', 'append')} was left"],
    }, done.output
    assert done.outcomes == {"passed": 6, "errors": 4}
    assert run(pytester, mode="restore").outcomes == {"passed": 6}


def test_options_of_streams_are_named_and_put_back(pytester: pytest.Pytester) -> None:
    pytest.importorskip("interlock._core.tensor")
    program(pytester, "stream_options")
    name, by = "interlock.autograd.graph.set_", "by an unknown line"
    assert run(pytester).left == {
        "test_streams": [
            f"{name}warn_on_accumulate_grad_stream_mismatch(): True -> False, {by}",
            f"{name}override_stale_capture_stream(): False -> True, {by}",
        ]
    }


def test_writes_into_open_scopes_of_fixtures_are_put_back_there(pytester: pytest.Pytester) -> None:
    program(pytester, "scopes_of_fixtures")
    done = run(pytester)
    assert set(done.left) == {"test_mode", "test_flag", "test_left_open"}, done.output
    assert "could not be put back" not in done.output
    assert done.outcomes == {"passed": 4, "errors": 3}


def test_freeze_is_reported_as_not_put_back(pytester: pytest.Pytester) -> None:
    program(pytester, "freeze")
    done = run(pytester)
    (frozen,) = done.left["test_freeze"]
    assert re.match(
        r"interlock\.backends\.flags_frozen\(\): False -> True, frozen at \S+\.py:\d+; could not", frozen
    )
    assert frozen.endswith(
        "could not be put back: only the object that `frozen()` returned can end the freeze"
    )
    assert "which were put back except where a line says otherwise:" in done.output


def test_flag_that_is_frozen_is_reported_as_not_put_back(pytester: pytest.Pytester) -> None:
    program(pytester, "frozen_flag")
    flag, _ = run(pytester).left["test_freeze"]
    assert flag.startswith("interlock.backends.cudnn.benchmark: False (not assigned) -> True, ")
    assert flag.endswith("; could not be put back: flags are frozen")


def test_restore_warns_of_what_it_cannot_put_back(pytester: pytest.Pytester) -> None:
    path = program(pytester, "freeze")
    done = run(pytester, mode="restore")
    assert done.outcomes == {"passed": 1}
    assert "SettingWarning: interlock: this test left changes:\n" in done.output
    assert f"False -> True, frozen at {at(path, 'test_freeze', '__enter__')}; could not be" in done.output


def test_flags_that_a_test_registers_are_unregistered(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        late="from interlock import backends\nbackends.register('late.flag', 1, doc='At import.')"
    )
    program(pytester, "registered_flags")
    done = run(pytester)
    assert done.left == {}
    assert done.outcomes == {"passed": 2}


def test_registered_functions_and_kernels_are_named_and_removed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(late="from interlock import backends\ncalled = []\nbackends.on_change(called.append)")
    path = program(pytester, "registered_functions")
    done = run(pytester)
    functions = {
        "test_flags": "backends.on_change",
        "test_modes": "autograd.on_change",
        "test_carried": "state.register_carried",
        "test_memory": "accelerator.memory.on_oom",
        "test_kernel": "dispatch.register_kernel(matmul, mine)",
    }
    calls = {test: name.removeprefix("accelerator.").partition("(")[0] for test, name in functions.items()}
    printing = "interlock.set_printoptions()."
    assert done.left == {
        **{
            test: [f"what interlock.{name} registered at {at(path, test, calls[test])} was left"]
            for test, name in functions.items()
        },
        "test_printing": [
            f"{printing}precision: 4 -> 2, by an unknown line",
            f"{printing}sci_mode: None -> True, by an unknown line",
        ],
        "test_last": [
            f"what interlock.backends.on_change registered at {at(path, 'careless', 'on_change')} was left"
        ],
    }, done.output
    assert "interlock: the fixture careless (module) left changes, which were put back:" in done.output
    assert done.outcomes == {"passed": 10, "errors": 7}
    assert run(pytester, mode="restore").outcomes == {"passed": 10}


def test_flags_that_a_test_unregisters_are_registered_again(pytester: pytest.Pytester) -> None:
    program(pytester, "unregistered_flags")
    done = run(pytester)
    flags = {test: lines[0].partition(",")[0] for test, lines in done.left.items()}
    assert flags == {
        "test_assigned": "interlock.backends.mine.assigned: 4 -> None",
        "test_default": "interlock.backends.mine.default: 3 (not assigned) -> None",
        "test_late": "interlock.backends.mine.late: 3 (not assigned) -> 5",
    }
    assert done.outcomes == {"passed": 4, "errors": 3}


@needs_pools
def test_registrations_are_undone_and_disabled_libraries_reported(pytester: pytest.Pytester) -> None:
    program(pytester, "registrations")
    done = run(pytester)
    assert "numpy was disabled by settings.disable()" in done.left["test_disable"]
    assert not any("->" in line for line in done.left["test_disable"])
    assert set(done.left) == {"test_disable"}
    assert done.outcomes == {"passed": 4, "errors": 1}


def test_settings_of_libraries_are_named_with_their_lines(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FAKE_TORCH))
    pytester.makepyfile(importing="import torch\ntorch.backends.cudnn.benchmark = True\n")
    path = program(pytester, "libraries")
    done = run(pytester)
    names = "torch.backends.cudnn"
    assert set(done.left) == {"test_import", "test_two"}, done.output
    assert (
        f"{names}.deterministic: False -> True, written at {at(path, 'test_import', 'deterministic')}"
        in done.left["test_import"]
    )
    # The functions that write modes of a thread are not wrapped.
    assert "torch.grad_enabled: True -> False, by an unknown line" in done.left["test_import"]
    assert (
        f"{names}.deterministic: False -> True, written at {at(path, 'test_two', 'deterministic = True')}"
        in done.left["test_two"]
    )
    assert (
        f"{names}.allow_tf32: True -> False, written at {at(path, 'test_two', 'allow_tf32')}"
        in done.left["test_two"]
    )
    assert done.outcomes == {"passed": 4, "errors": 2}


def test_overrides_and_pins_are_closed_and_named(pytester: pytest.Pytester) -> None:
    path = program(pytester, "overrides")
    left = run(pytester).left
    entered = "of mylib.level that was entered at"
    assert left["test_override"] == [
        f"the override {entered} {at(path, 'test_override', '__enter__')} was left open"
    ]
    assert left["test_pin"] == [f"the pin {entered} {at(path, 'test_pin', 'settings')} was left open"]
    (thread,) = left["test_thread_that_ended"]
    assert thread.startswith(f"the override {entered} ")
    assert left["test_write"] == ["mylib.level: 5 -> 6, by code that cannot be seen"]
    assert set(left) == {"test_override", "test_pin", "test_thread_that_ended", "test_write"}


def test_scope_of_a_thread_that_runs_is_left(pytester: pytest.Pytester) -> None:
    program(pytester, "running_thread")
    program(pytester, "held_by_a_thread")
    assert run(pytester).outcomes == {"passed": 5}


@needs_pools
def test_thread_counts_are_named_with_their_lines(pytester: pytest.Pytester) -> None:
    path = program(pytester, "thread_counts")
    done = run(pytester)
    name = "openblas.numpy.num_threads"
    assert done.left == {
        "test_limit": [f"{name}: 2 -> 1, written at {at(path, 'test_limit', 'threadpool_limits')}"],
        "test_native_call": [f"{name}: 2 -> 1, by code that cannot be seen"],
        "test_interlock": [
            f"interlock.num_threads: 2 -> 3, written at {at(path, 'test_interlock', 'set_num_threads')}"
        ],
    }
    assert done.outcomes == {"passed": 5, "errors": 3}


@needs_pools
def test_library_that_is_loaded_later_is_seen(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    path = program(pytester, "late_pool")
    done = run(pytester)
    name = "openblas.numpy.num_threads"
    assert done.left == {
        "test_load": [f"{name}: 2 -> 3, written at {at(path, 'test_load', 'set_num_threads')}"],
        "test_limit": [f"{name}: 2 -> 4, written at {at(path, 'test_limit', 'set_num_threads')}"],
    }
    assert done.outcomes == {"passed": 3, "errors": 2}


def test_plugin_works_without_threadpoolctl(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys\nsys.modules['threadpoolctl'] = None\n")
    pytester.makepyfile("import os\ndef test_leak():\n    os.environ['A'] = '1'\n")
    assert run(pytester).outcomes == {"passed": 1, "errors": 1}


def test_functions_and_limits_of_printing_of_numpy_are_restored(pytester: pytest.Pytester) -> None:
    pytest.importorskip("numpy")
    pytester.makeconftest(
        "import numpy as np\nnp.set_printoptions(threshold=np.inf, formatter={'int': hex})\n"
    )
    change = "np.set_printoptions(threshold=5, formatter={'float': lambda x: 'Z'}); np.seterrcall(print)"
    check = "str(np.arange(9, 11)), str(np.array([1.5])), np.geterrcall()"
    text = f"import numpy as np\ndef test_a(): {change}\ndef test_b(): print({check})\n"
    pytester.makepyfile(text)
    done = run(pytester, "-s", mode="restore")
    assert "[0x9 0xa] [1.5] None" in done.output
    assert "could not be put back" not in run(pytester, mode="fail").output


def test_values_of_unknown_variables_are_not_shown(pytester: pytest.Pytester) -> None:
    change = "os.environ.update(AWS_SECRET_ACCESS_KEY='hush hush', OMP_NUM_THREADS='1234', VERBOSE='0')"
    pytester.makepyfile(f"import os\ndef test_a(): {change}\ndef test_b(): os.environ.clear()\n")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_SECRET_ACCESS_KEY", "hush")
        environment.delenv("OMP_NUM_THREADS", raising=False)
        done = run(pytester)
    assert "hush" not in done.output
    shown = [line.partition(",")[0] for line in done.left["test_a"]]
    assert shown == [
        "environ.AWS_SECRET_ACCESS_KEY: <hidden> -> <hidden>",
        "environ.OMP_NUM_THREADS: None -> '1234'",
        "environ.VERBOSE: None -> '0'",
    ]
    assert "environ.AWS_SECRET_ACCESS_KEY: <hidden> -> None" in done.output
    assert run(pytester, mode="restore").outcomes == {"passed": 2}
