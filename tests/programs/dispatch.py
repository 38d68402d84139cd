"""Recorded operations."""

import json
import os
import sys
import threading
from types import ModuleType

import interlock
from interlock import accelerator, backends, dispatch
from interlock.nn import attention


def recording_and_a_fork():
    """Fork while a recording is open and other threads record; parent and child then record on their own."""
    stop = threading.Event()

    def keep_recording() -> None:
        x = interlock.ones(1, 1)
        while not stop.is_set():
            with dispatch.record():
                x @ x

    def sizes(calls: dispatch.Recording) -> list[str]:
        return [call.arguments.split()[2].partition("x")[0] for call in calls]

    def product(size: int) -> None:
        x = interlock.ones(size, size)
        x @ x

    threads = [threading.Thread(target=keep_recording) for _ in range(2)]
    for thread in threads:
        thread.start()
    reader, writer = os.pipe()
    with dispatch.record() as calls:
        product(1)
        child = os.fork()
        if child == 0:
            product(2)
            os.write(writer, json.dumps(sizes(calls)).encode())
            os._exit(0)
        product(3)
    os.waitpid(child, 0)
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"parent": sizes(calls), "child": json.loads(os.read(reader, 1000))}))


def tf32_product():
    """Print the arithmetic of a product on a host device under the TF32 precision."""
    accelerator.use("host")
    x = interlock.ones(2, 2, device="host:0")
    with backends.override({"cuda.matmul.fp32_precision": "tf32"}):
        print(json.dumps(dispatch.explain("matmul", x, x).inputs))


def two_products():
    """Multiply two matrices on the CPU and on a host device."""
    accelerator.use("host")
    for device in ("cpu", "host:0"):
        interlock.ones(2, 3, device=device) @ interlock.ones(3, 2, device=device)
    accelerator.synchronize()


def registered_kernel_at_exit_and_in_a_fork():
    """Run a kernel in a forked child and in the parent, and exit while it is registered."""
    x = interlock.ones(1, 1)
    dispatch.register_kernel("matmul", "ten", lambda a, b: a * b * 10)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    print("parent" if child else "child", (x @ x).item(), flush=True)


def trace_after_an_interrupt():
    """Trace a function after the condition of a kernel has raised an interrupt."""

    def interrupted(call: dispatch.KernelCall) -> bool:
        raise KeyboardInterrupt

    x = interlock.ones(1, 1)
    with dispatch.register_kernel("matmul", "ten", lambda a, b: a * b * 10, condition=interrupted):
        try:
            x @ x
        except KeyboardInterrupt:
            print("interrupted")
    sys.settrace(lambda *event: None)
    print(sum(number for number in range(4)))
    sys.settrace(None)


def flash_attention_package():
    """Activate FA3 with fakes of its package and of PyTorch, and restore interlock's kernels."""
    package, torch = ModuleType("flash_attn_interface"), ModuleType("torch")
    package.flash_attn_func = lambda *operands, **options: operands[0]
    sys.modules.update(flash_attn_interface=package, torch=torch)
    x = interlock.ones(1, 1, 2, 8)

    def considered() -> list[dispatch.Considered]:
        return list(dispatch.explain("scaled_dot_product_attention", x, x, x).considered)

    attention.activate_flash_attention_impl("FA3")
    current, reason = attention.current_flash_attention_impl(), str(considered()[0].reason)
    attention.restore_flash_attention_impl()
    restored = [attention.current_flash_attention_impl(), [one.kernel for one in considered()]]
    print(json.dumps({"current": current, "reason": reason, "restored": restored}))
