"""The type and the full message of errors: a row for each kind of mistake."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, run_command

pytestmark = pytest.mark.any_build
WITHOUT_A_GPU = 'no CUDA device: cannot load libcuda.so.1. To run without a GPU: accelerator.use("host")'
HOST = 'this process uses the driver "host" (host:0, host:1)'
INDEX = "a device index must be a number from 0 to 127 without sign or leading zeros"
LIMIT = (
    "accelerator.memory.set_limit: limit must be a number of bytes, a fraction from 0.0 to 1.0, "
    'a percentage such as "90%", or None'
)
NO_DEVICE = "device must be a device, a str or an int"
NO_STREAM = "stream must be a Stream or an object with __cuda_stream__"
CUDNN = (
    "backends.cudnn is a namespace, not a flag; its flags: enabled, benchmark, benchmark_limit, "
    "deterministic, depthwise_kernel, fp32_precision, allow_tf32"
)

BEFORE = "Call use() before the first use of a device"
UNSELECTED = 'no driver is selected. Call accelerator.use("host") first, or set INTERLOCK_ACCELERATOR=host'

NO_DRIVER: list[tuple[str, str, str]] = [
    (
        "interlock.ones(2, device='host')",
        "NoAcceleratorError",
        f'ones: device "host" is not available: {UNSELECTED}',
    ),
    (
        "interlock.Event('host')",
        "NoAcceleratorError",
        f'Event: device "host" is not available: {UNSELECTED}',
    ),
    (
        "memory.Buffer(3, 'host:1')",
        "NoAcceleratorError",
        f'accelerator.memory.Buffer: device "host:1" is not available: {UNSELECTED}',
    ),
    (
        "interlock.ones(2, device='meta')",
        "NoAcceleratorError",
        'ones: device "meta" is not available: this process has no driver of this type',
    ),
    ("interlock.Stream()", "NoAcceleratorError", f"Stream: {WITHOUT_A_GPU}"),
    ("interlock.device(0)", "NoAcceleratorError", f"device: {WITHOUT_A_GPU}"),
    ("interlock.device('gpu')", "DeviceError", 'unknown device "gpu"; available here: cpu'),
    (
        "memory.memory_allocated('cuda:3')",
        "DeviceError",
        'accelerator.memory.memory_allocated: device "cuda:3" is not available: '
        "no CUDA device: cannot load libcuda.so.1",
    ),
    (
        "testing.FaultInjector().fail_next_copy('x')",
        "NoAcceleratorError",
        'FaultInjector: call accelerator.use("host", faults=...) with this FaultInjector first',
    ),
    (
        "accelerator.use('hots')",
        "DeviceError",
        'accelerator.use: name must be one of host, host:N, cuda, none, got "hots"; did you mean "host"?',
    ),
    (
        "accelerator.use('cuda', devices=1)",
        "TypeError",
        'accelerator.use: devices, memory and faults are arguments of the driver "host" only, got "cuda"',
    ),
    (
        "accelerator.use('host', devices=200)",
        "ArgumentError",
        'the number of devices of the driver "host" must be from 0 to 128, got 200',
    ),
    (
        "accelerator.use('host', devices='2')",
        "TypeError",
        "accelerator.use: devices must be an int, got str",
    ),
]

FLAGS: list[tuple[str, str, str]] = [
    (
        "backends.register('verbose', False, doc='x')",
        "FlagRegistrationError",
        'register("verbose"): name must be "<package>.<flag>" in lower case, for example "mylib.verbose"',
    ),
    (
        "backends.register('cudnn.x', False, doc='x')",
        "FlagRegistrationError",
        'register("cudnn.x"): name must begin with the name of your package, and "cudnn" '
        "is reserved for interlock",
    ),
    (
        "backends.register('mylib.x', 5, doc='x', maximum=3)",
        "FlagRegistrationError",
        'register("mylib.x"): default must be at most the maximum 3, got 5',
    ),
    ("backends.explain('cudnn')", "UnknownFlagError", CUDNN),
    ("backends.override(cudnn=True)", "UnknownFlagError", CUDNN),
    (
        "backends.explain('cudnn.enabeld')",
        "UnknownFlagError",
        "there is no flag backends.cudnn.enabeld; did you mean backends.cudnn.enabled?",
    ),
    (
        "backends.cudnn.conv.enabled",
        "UnknownFlagError",
        'interlock.backends.cudnn.conv has no flag "enabled"; did you mean "cudnn.enabled"?',
    ),
    (
        "setattr(backends.cudnn, 'benchmark_limit', -1)",
        "FlagValueError",
        "backends.cudnn.benchmark_limit must be an int from 0 to 2147483647, got -1",
    ),
    (
        "setattr(backends.cudnn, 'enabled', 1)",
        "FlagTypeError",
        "backends.cudnn.enabled must be a bool, got 1",
    ),
    (
        "backends.libraries.load('cudn')",
        "UnknownLibraryError",
        'unknown vendor library "cudn"; did you mean "cudnn"?',
    ),
    (
        "backends.libraries.find(3)",
        "TypeError",
        "backends.libraries.find: name must be a str, got int",
    ),
    (
        "backends.libraries.load('cudnn', 3)",
        "TypeError",
        "backends.libraries.load: path must be a str, a path or None, got int",
    ),
    ("backends.FlagScope(3)", "TypeError", "FlagScope: values must be a dict, got int"),
    ("backends.FlagScope({}, 3)", "TypeError", "FlagScope: copied must be a bool, got int"),
    (
        "backends.mkl.verbose(7)",
        "FlagValueError",
        "backends.mkl.verbose: enable must be VERBOSE_OFF (0) or VERBOSE_ON (1), got 7",
    ),
    (
        "backends.cudnn.conv.__delattr__(3)",
        "TypeError",
        "__delattr__: name must be a str, got int",
    ),
    (
        "backends.cudnn.conv.__getattribute__(3)",
        "TypeError",
        "__getattribute__: name must be a str, got int",
    ),
    (
        "backends.Level('x')",
        "ValueError",
        "Level: value must be one of 'scope', 'process', 'environment', 'default', got 'x'",
    ),
    (
        "backends.libraries.load('cudnn', '/nowhere/x.so')",
        "LibraryPathError",
        'backends.libraries.load("cudnn", path): "/nowhere/x.so" cannot be used as '
        "cuDNN: there is no such file",
    ),
    (
        "interlock.no_grad(3)",
        "TypeError",
        "no_grad: orig_func must be a function to decorate, got int",
    ),
    (
        "interlock.set_grad_enabled(1)",
        "TypeError",
        "set_grad_enabled: mode must be a bool, got int",
    ),
    (
        "interlock.set_grad_enabled()",
        "TypeError",
        "set_grad_enabled() missing 1 required argument: 'mode'",
    ),
]

HOST_DRIVER: list[tuple[str, str, str]] = [
    ("interlock.Stream('gpu')", "DeviceError", 'unknown device "gpu"; available here: cpu, host'),
    (
        "interlock.set_default_device('gpu:0')",
        "DeviceError",
        'unknown device "gpu"; available here: cpu, host',
    ),
    ("interlock.Stream('cuda')", "DeviceError", f'Stream: device "cuda" is not available: {HOST}'),
    (
        "accelerator.set_device_index(7)",
        "DeviceError",
        f'accelerator.set_device_index: device "host:7" is not available: {HOST}',
    ),
    (
        "accelerator.set_device_index('cuda')",
        "DeviceError",
        'accelerator.set_device_index: device must be an index, or a device with an index, got "cuda"',
    ),
    (
        "memory.memory_allocated('cuda')",
        "DeviceError",
        f'accelerator.memory.memory_allocated: device "cuda" is not available: {HOST}',
    ),
    ("interlock.device('cuda:01')", "DeviceError", f'{INDEX}, got "cuda:01"'),
    ("interlock.device(-1)", "DeviceError", f"{INDEX}, got -1"),
    (
        "interlock.Stream(1.5)",
        "TypeError",
        "Stream: device must be a device, a str or an int, got float",
    ),
    (
        "accelerator.use('cuda')",
        "DriverInUseError",
        f'accelerator.use: cannot select the driver "cuda" now: {HOST}. {BEFORE}',
    ),
    (
        "accelerator.use('host', memory=1 << 20)",
        "DriverInUseError",
        f'accelerator.use: cannot select the driver "host" now: {HOST}. {BEFORE}',
    ),
    ("accelerator.use(3)", "TypeError", "accelerator.use: name must be a str, got int"),
    (
        "accelerator.use('host', faults=3)",
        "TypeError",
        "accelerator.use: faults must be a FaultInjector, got int",
    ),
    (
        "accelerator.device_name(5)",
        "DeviceError",
        f'accelerator.device_name: device "host:5" is not available: {HOST}',
    ),
    (
        "memory.snapshot('host:7')",
        "DeviceError",
        f'accelerator.memory.snapshot: device "host:7" is not available: {HOST}',
    ),
    (
        "accelerator.device_index('1')",
        "DeviceError",
        'accelerator.device_index: device must be an int or a name such as "host:1", got "1"',
    ),
    (
        "interlock.ones(2).to('fp16')",
        "DeviceError",
        "to: dtype must be interlock.float16, bfloat16, float32, float64, int64, int32, int16, int8, uint8 "
        'or bool, got "fp16", for example to(interlock.float32)',
    ),
    ("interlock.Event(blocking=3)", "TypeError", "Event: blocking must be a bool, got int"),
    ("interlock.Stream(dedicated='x')", "TypeError", "Stream: dedicated must be a bool, got str"),
    ("accelerator.Graph(keep_graph=3)", "TypeError", "Graph: keep_graph must be a bool, got int"),
    (
        "accelerator.Graph(capture_error_mode=3)",
        "TypeError",
        "Graph: capture_error_mode must be a str, got int",
    ),
    (
        "accelerator.Graph(pool=3)",
        "TypeError",
        "Graph: pool must be a MemPool, the id of a memory pool, or None, got int",
    ),
    (
        "accelerator.Graph(pool=(1, -1))",
        "TypeError",
        "Graph: pool must be a MemPool, the id of a memory pool, or None, got (1, -1)",
    ),
    (
        "interlock.Event.from_ipc_handle('host', 3)",
        "TypeError",
        "Event.from_ipc_handle: handle must be bytes, got int",
    ),
    ("interlock.ThreadState(pin=3)", "TypeError", "ThreadState: pin must be a bool, got int"),
    (
        "memory.AllocatorConfig.parse(3)",
        "TypeError",
        "AllocatorConfig.parse: text must be a str, got int",
    ),
    (
        "memory.AllocatorConfig(max_split_size_mb=1)",
        "ArgumentError",
        "AllocatorConfig: max_split_size_mb must be a number of megabytes, at least "
        "large_segment_size_mb, got 1",
    ),
    (
        "memory.replay(3)",
        "TypeError",
        "replay: snapshot must be a dict, as snapshot() returns it, got int",
    ),
    (
        "buffer.__dlpack__(max_version=3)",
        "TypeError",
        "Buffer.__dlpack__: max_version must be a tuple of two ints or None, got int",
    ),
    (
        "buffer.__dlpack__(dl_device=(1,))",
        "TypeError",
        "Buffer.__dlpack__: dl_device must be a tuple of two ints or None, got (1,)",
    ),
    (
        "buffer.copy_to(3)",
        "TypeError",
        "Buffer.copy_to: destination must be a Buffer or an object with the buffer protocol, got int",
    ),
    (
        "accelerator.current_accelerator(3)",
        "TypeError",
        "accelerator.current_accelerator: check_available must be a bool, got int",
    ),
    (
        "interlock.Stream().wait_event(None)",
        "TypeError",
        "Stream.wait_event: event must be an Event, got None",
    ),
    (
        "interlock.Stream().record_event(3)",
        "TypeError",
        "Stream.record_event: event must be an Event, got int",
    ),
    (
        "interlock.Event().elapsed_time(3)",
        "TypeError",
        "Event.elapsed_time: end_event must be an Event, got int",
    ),
    ("interlock.capture().run(3)", "TypeError", "run: function must be callable, got int"),
    (
        "memory.fill_(bytearray(3), 0)",
        "TypeError",
        "accelerator.memory.fill_: buffer must be a Buffer, got bytearray",
    ),
    (
        "memory.copy_(buffer, buffer, non_blocking=3)",
        "TypeError",
        "accelerator.memory.copy_: non_blocking must be a bool, got int",
    ),
    (
        "buffer.copy_from(b'', non_blocking=3)",
        "TypeError",
        "Buffer.copy_from: non_blocking must be a bool, got int",
    ),
    (
        "buffer.copy_to(b'', non_blocking=3)",
        "TypeError",
        "Buffer.copy_to: non_blocking must be a bool, got int",
    ),
    ("buffer.__dlpack__(copy=3)", "TypeError", "Buffer.__dlpack__: copy must be a bool, got int"),
    (
        "faults.fail_allocation('x')",
        "TypeError",
        "FaultInjector.fail_allocation: number must be an int, got str",
    ),
    ("faults.fail_next_copy(3)", "TypeError", "FaultInjector.fail_next_copy: reason must be a str, got int"),
    (
        "interlock.Stream(priority=1)",
        "ArgumentError",
        "Stream: priority must be from -3, the first to run, to 0, got 1",
    ),
    (
        "accelerator.set_stream(3)",
        "TypeError",
        "accelerator.set_stream: stream must be a Stream or an object with __cuda_stream__, got int",
    ),
    (
        "accelerator.launch(interlock.Stream(), 3)",
        "TypeError",
        "accelerator.launch: function must be callable, got int",
    ),
    (
        "interlock.Event().elapsed_time(interlock.Event())",
        "ArgumentError",
        "Event.elapsed_time: both events must be created with enable_timing=True, got an "
        "event without timing",
    ),
    ("closed.fill_(1)", "BufferClosedError", "Buffer.fill_: the buffer is closed"),
    ("closed.copy_to(bytearray(8))", "BufferClosedError", "Buffer.copy_to: the buffer is closed"),
    ("closed.nbytes", "BufferClosedError", "Buffer.nbytes: the buffer is closed"),
    ("closed.slice(1)", "BufferClosedError", "Buffer.slice: the buffer is closed"),
    ("memoryview(closed)", "BufferClosedError", "memoryview: the buffer is closed"),
    (
        "viewed.close()",
        "BufferError",
        "Buffer.close: 1 of its views (memoryview, numpy.frombuffer) must be released first",
    ),
    ("buffer[0]", "TypeError", "a Buffer index must be a slice, got int"),
    (
        "buffer.slice(3, 20)",
        "ArgumentError",
        "Buffer.slice: start and stop must be a range of the 8 bytes, got 3 and 20",
    ),
    (
        "buffer.fill_(300)",
        "ArgumentError",
        "Buffer.fill_: value must be from 0 to 255, got 300",
    ),
    (
        "buffer.copy_from(b'123')",
        "ArgumentError",
        "accelerator.memory.copy_: destination and source must be equal in size, got 8 and 3 bytes",
    ),
    (
        "buffer.fill_(1, stream=interlock.Stream(1))",
        "DeviceError",
        "Buffer.fill_: stream must be on the device of the buffer, host:0, got a stream of host:1",
    ),
    (
        "memory.set_config('max_split_size:64')",
        "ArgumentError",
        'unknown key "max_split_size"; did you mean "max_split_size_mb"?',
    ),
    (
        "memory.set_config('max_split:64')",
        "ArgumentError",
        'unknown key "max_split"; did you mean "max_split_size_mb"?',
    ),
    (
        "memory.set_config('max_split_size_mb:1')",
        "ArgumentError",
        "max_split_size_mb must be a number of megabytes, at least large_segment_size_mb, got 1",
    ),
    (
        "memory.set_config('a,,b')",
        "ArgumentError",
        'config must be key:value pairs with commas between, got "a,,b"',
    ),
    ("memory.set_limit(-1)", "ArgumentError", f"{LIMIT}, got -1"),
    ("memory.set_limit([])", "TypeError", f"{LIMIT}, got list"),
    ("memory.set_limit(2.0)", "ArgumentError", f"{LIMIT}, got 2.0"),
    (
        "memory.set_cache_limit('2%%')",
        "ArgumentError",
        LIMIT.replace("set_limit", "set_cache_limit") + ', got "2%%"',
    ),
    ("memory.set_limit(1, 2.5)", "TypeError", f"accelerator.memory.set_limit: {NO_DEVICE}, got float"),
    ("interlock.ones(2, device=2.5)", "TypeError", f"ones: {NO_DEVICE}, got float"),
    ("interlock.device(2.5)", "TypeError", "device: type must be a device, a str or an int, got float"),
    (
        "interlock.device('host', 2.5)",
        "TypeError",
        "device: index must be an int, got float",
    ),
    ("interlock.Event().wait(3)", "TypeError", f"Event.wait: {NO_STREAM}, got int"),
    ("accelerator.launch(3, print)", "TypeError", f"accelerator.launch: {NO_STREAM}, got int"),
    ("memory.Buffer(3, stream=3)", "TypeError", f"Buffer: {NO_STREAM}, got int"),
    (
        "accelerator.get_device_capability(5)",
        "DeviceError",
        f'accelerator.get_device_capability: device "host:5" is not available: {HOST}',
    ),
    (
        "memory.fill_(memory.Buffer(3), 256)",
        "ArgumentError",
        "accelerator.memory.fill_: value must be from 0 to 255, got 256",
    ),
    (
        "memory.on_oom(3)",
        "TypeError",
        "accelerator.memory.on_oom: callback must be callable, got int",
    ),
    (
        "memory.history(stacks='c++')",
        "ArgumentError",
        'accelerator.memory.history: stacks must be "python", "all" or None, got "c++"',
    ),
    (
        "memory.Buffer(2 << 30)",
        "OutOfMemoryError",
        "out of memory: tried to allocate 2.00 GiB on host:0 (free 62.00 MiB, reserved 2.00 MiB, "
        "allocated 1.00 KiB, largest free block 0 bytes, 2.00 MiB free in segments for small blocks). "
        "Free memory of the device, or allocate less",
    ),
    (
        "testing.FaultInjector().lose_device(0, 'x')",
        "NoAcceleratorError",
        'FaultInjector: call accelerator.use("host", faults=...) with this FaultInjector first',
    ),
    (
        "faults.fail_allocation(0)",
        "ArgumentError",
        "FaultInjector.fail_allocation: number must be at least 1, got 0",
    ),
    (
        "faults.fail_allocation(-1)",
        "ArgumentError",
        "FaultInjector.fail_allocation: number must be at least 1, got -1",
    ),
    (
        "faults.fail_allocation(1, times=0)",
        "ArgumentError",
        "FaultInjector.fail_allocation: times must be at least 1, got 0",
    ),
    (
        "faults.lose_device(7, 'x')",
        "DeviceError",
        'FaultInjector.lose_device: device "host:7" is not available: the number of devices is 2',
    ),
]

LOST: list[tuple[str, str, str]] = [
    (
        "memory.Buffer(4, 'host:0')",
        "DeviceLostError",
        "accelerator.memory.Buffer failed: the device host:0 was lost: unplugged",
    ),
    (
        "accelerator.current_stream()",
        "DeviceLostError",
        "accelerator.current_stream failed: the device host:0 was lost: unplugged",
    ),
]

HOTS: list[tuple[str, str, str]] = [
    (
        "interlock.Stream()",
        "NoAcceleratorError",
        "Stream: INTERLOCK_ACCELERATOR must be host, host:N, cuda, none or the name of a registered driver, "
        'got "hots:2"; did you mean "host:2"?',
    ),
]

TABLES: dict[str, list[tuple[str, str, str]]] = {
    "no driver": NO_DRIVER,
    "flags": FLAGS,
    "host driver": HOST_DRIVER,
    "lost device": LOST,
    "misspelt driver": HOTS,
}


@pytest.fixture(scope="module")
def raised() -> Callable[[str], dict[str, Any]]:
    """Return the errors of all calls of a table, each with its type, by call; a table runs in one process."""
    results: dict[str, dict[str, Any]] = {}

    def of_table(table: str) -> dict[str, Any]:
        if table not in results:
            calls = [call for call, _, _ in TABLES[table]]
            env = {"LD_LIBRARY_PATH": ""}
            if table == "misspelt driver":
                env["INTERLOCK_ACCELERATOR"] = "hots:2"
            results[table] = eval_program("accelerator.streams.raise_errors", table, calls, env=env)
        return results[table]

    return of_table


@pytest.mark.parametrize(
    ("table", "call", "error", "message"),
    [(table, *row) for table, rows in TABLES.items() for row in rows],
    ids=stable_repr,
)
def test_error_has_this_type_and_message(
    table: str,
    call: str,
    error: str,
    message: str,
    raised: Callable[[str], dict[str, Any]],
    no_driver: dict[str, str],
) -> None:
    if table == "no driver" and no_driver != {"LD_LIBRARY_PATH": ""}:
        pytest.skip("a real driver library is installed here")
    # The text is shown in full: a build without the tensor runtime skips calls that need it.
    assert raised(table)[call] == [error, message], raised(table)[call]


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
