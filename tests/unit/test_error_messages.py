"""The type and the full message of errors: a row for each kind of mistake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.recorded import Recorded
from tests.helpers.subprocess import eval_program, run_command

pytestmark = pytest.mark.any_build
# The texts of the errors of each table.
ERRORS = Path(__file__).with_name("error_messages")

NO_DRIVER = [
    "interlock.ones(2, device='host')",
    "interlock.Event('host')",
    "memory.Buffer(3, 'host:1')",
    "interlock.ones(2, device='meta')",
    "interlock.Stream()",
    "interlock.device(0)",
    "interlock.device('gpu')",
    "memory.memory_allocated('cuda:3')",
    "testing.FaultInjector().fail_next_copy('x')",
    "accelerator.use('hots')",
    "accelerator.use('cuda', devices=1)",
    "accelerator.use('host', devices=200)",
    "accelerator.use('host', devices='2')",
]

FLAGS = [
    "backends.register('verbose', False, doc='x')",
    "backends.register('cudnn.x', False, doc='x')",
    "backends.register('mylib.x', 5, doc='x', maximum=3)",
    "backends.explain('cudnn')",
    "backends.override(cudnn=True)",
    "backends.explain('cudnn.enabeld')",
    "backends.cudnn.conv.enabled",
    "setattr(backends.cudnn, 'benchmark_limit', -1)",
    "setattr(backends.cudnn, 'enabled', 1)",
    "backends.libraries.load('cudn')",
    "backends.libraries.find(3)",
    "backends.libraries.load('cudnn', 3)",
    "backends.FlagScope(3)",
    "backends.FlagScope({}, 3)",
    "backends.mkl.verbose(7)",
    "backends.cudnn.conv.__delattr__(3)",
    "backends.cudnn.conv.__getattribute__(3)",
    "backends.Level('x')",
    "backends.libraries.load('cudnn', '/nowhere/x.so')",
    "interlock.no_grad(3)",
    "interlock.set_grad_enabled(1)",
    "interlock.set_grad_enabled()",
]

HOST_DRIVER = [
    "interlock.Stream('gpu')",
    "interlock.set_default_device('gpu:0')",
    "interlock.Stream('cuda')",
    "accelerator.set_device_index(7)",
    "accelerator.set_device_index('cuda')",
    "memory.memory_allocated('cuda')",
    "interlock.device('cuda:01')",
    "interlock.device(-1)",
    "interlock.Stream(1.5)",
    "accelerator.use('cuda')",
    "accelerator.use('host', memory=1 << 20)",
    "accelerator.use(3)",
    "accelerator.use('host', faults=3)",
    "accelerator.device_name(5)",
    "memory.snapshot('host:7')",
    "memory.history(device='host:7')",
    "memory.MemoryTracker('host:7').__enter__()",
    "accelerator.device_index('1')",
    "accelerator.device_index(-4)",
    "memory.memory_stats_as_nested_dict('host:7')",
    "memory.dump_snapshot('unused', device='host:7')",
    "interlock.ones(2).to('fp16')",
    "interlock.Event(blocking=3)",
    "interlock.Stream(dedicated='x')",
    "accelerator.Graph(keep_graph=3)",
    "accelerator.Graph(capture_error_mode=3)",
    "accelerator.Graph(pool=3)",
    "accelerator.Graph(pool=(1, -1))",
    "interlock.Event.from_ipc_handle('host', 3)",
    "interlock.ThreadState(pin=3)",
    "memory.AllocatorConfig.parse(3)",
    "memory.AllocatorConfig(max_split_size_mb=1)",
    "memory.replay(3)",
    "buffer.__dlpack__(max_version=3)",
    "buffer.__dlpack__(dl_device=(1,))",
    "buffer.copy_to(3)",
    "accelerator.current_accelerator(3)",
    "interlock.Stream().wait_event(None)",
    "interlock.Stream().record_event(3)",
    "interlock.Event().elapsed_time(3)",
    "interlock.capture().run(3)",
    "memory.fill_(bytearray(3), 0)",
    "memory.copy_(buffer, buffer, non_blocking=3)",
    "buffer.copy_from(b'', non_blocking=3)",
    "buffer.copy_to(b'', non_blocking=3)",
    "buffer.__dlpack__(copy=3)",
    "faults.fail_allocation('x')",
    "faults.fail_next_copy(3)",
    "interlock.Stream(priority=1)",
    "accelerator.set_stream(3)",
    "accelerator.launch(interlock.Stream(), 3)",
    "interlock.Event().elapsed_time(interlock.Event())",
    "closed.fill_(1)",
    "closed.copy_to(bytearray(8))",
    "closed.nbytes",
    "closed.slice(1)",
    "memoryview(closed)",
    "viewed.close()",
    "buffer[0]",
    "buffer.slice(3, 20)",
    "buffer.fill_(300)",
    "buffer.copy_from(b'123')",
    "buffer.fill_(1, stream=interlock.Stream(1))",
    "memory.set_config('max_split_size:64')",
    "memory.set_config('max_split:64')",
    "memory.set_config('max_split_size_mb:1')",
    "memory.set_config('a,,b')",
    "memory.set_limit(-1)",
    "memory.set_limit([])",
    "memory.set_limit(2.0)",
    "memory.set_cache_limit('2%%')",
    "memory.set_limit(1, 2.5)",
    "interlock.ones(2, device=2.5)",
    "interlock.device(2.5)",
    "interlock.device('host', 2.5)",
    "interlock.Event().wait(3)",
    "accelerator.launch(3, print)",
    "memory.Buffer(3, stream=3)",
    "accelerator.get_device_capability(5)",
    "memory.fill_(memory.Buffer(3), 256)",
    "memory.on_oom(3)",
    "memory.history(stacks='c++')",
    "memory.Buffer(2 << 30)",
    "testing.FaultInjector().lose_device(0, 'x')",
    "faults.fail_allocation(0)",
    "faults.fail_allocation(-1)",
    "faults.fail_allocation(1, times=0)",
    "faults.lose_device(7, 'x')",
]

LOST = [
    "memory.Buffer(4, 'host:0')",
    "accelerator.current_stream()",
]

HOTS = [
    "interlock.Stream()",
]

TABLES = {
    "no driver": NO_DRIVER,
    "flags": FLAGS,
    "host driver": HOST_DRIVER,
    "lost device": LOST,
    "misspelt driver": HOTS,
}


@pytest.mark.parametrize("table", TABLES)
def test_errors_have_the_recorded_types_and_messages(
    table: str, recorded: Recorded, no_driver: dict[str, str]
) -> None:
    if table == "no driver" and no_driver != {"LD_LIBRARY_PATH": ""}:
        pytest.skip("a real driver library is installed here")
    env = {"LD_LIBRARY_PATH": ""}
    if table == "misspelt driver":
        env["INTERLOCK_ACCELERATOR"] = "hots:2"
    raised = eval_program("accelerator.streams.raise_errors", table, TABLES[table], env=env)
    recorded(
        ERRORS / f"{table.replace(' ', '_')}.json", {call: ": ".join(error) for call, error in raised.items()}
    )


MISSPELT = {"INTERLOCK_CUDNN_ENABELD": "1"}
WARNING = (
    "FlagEnvironmentWarning: INTERLOCK_CUDNN_ENABELD is ignored: there is no "
    "variable INTERLOCK_CUDNN_ENABELD; "
    "did you mean INTERLOCK_CUDNN_ENABLED, which accepts 0, 1, false or true?"
)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["{folder}/program.py"], "{folder}/program.py:2"),
        (["{folder}/outer.py"], "{folder}/library.py:3"),
        (["-m", "program"], "{folder}/program.py:2"),
        (["-c", "pass; import interlock"], "<string>:1"),
        (["-c", "import importlib\nimportlib.import_module('interlock.accelerator')"], "<string>:2"),
    ],
    ids=["program", "another package", "-m", "-c", "import_module"],
)
def test_warning_of_a_variable_points_at_the_import_of_interlock(
    arguments: list[str], place: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text("import sys\nfrom interlock import backends\n")
    (tmp_path / "library.py").write_text("import sys\n\nimport interlock\n")
    (tmp_path / "outer.py").write_text("import library\n")
    command = [sys.executable, *(argument.format(folder=tmp_path) for argument in arguments)]
    done = run_command(command, env=MISSPELT | {"PYTHONPATH": str(tmp_path)})
    assert done.code == 0
    assert done.stderr.splitlines()[0] == f"{place.format(folder=tmp_path)}: {WARNING}"
