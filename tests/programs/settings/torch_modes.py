"""Modes of PyTorch in captured states and tasks, and under interlock."""

import asyncio
import concurrent.futures
import contextlib
import gc
import json
import random
import sys
import threading
import time
import warnings

import interlock
from interlock import aio, backends, settings


def seen():
    """Return the modes of PyTorch on this thread."""
    import torch

    return [torch.is_inference_mode_enabled(), torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")]


NOTHING = [False, True, False]


def use_captured_modes():
    """Return what is seen where a state is applied that was captured under modes of PyTorch."""
    before = "torch" in sys.modules
    from interlock.integrations.torch import carry

    not_imported = "torch" in sys.modules
    with carry():
        import torch

        with torch.inference_mode(), torch.autocast("cpu"):
            state = interlock.capture()
        with torch.no_grad(), interlock.Executor(1) as pool:
            submitted = pool.submit(seen).result()
        found = {
            "imported": [before, not_imported],
            "applied": state.run(seen),
            "wrapped": state.wrap(seen)(),
            "submitted": submitted,
            "after": seen(),
        }
        with torch.no_grad():
            found["inside another mode"] = [state.run(seen), seen()]
        # A guard of PyTorch ends while a state is applied that does not have its mode.
        guard = torch.inference_mode()
        with interlock.capture().apply():
            guard.__enter__()
        found["guard entered inside"] = seen()
        guard.__exit__(None, None, None)
        found["guard exited outside"] = seen()
    found["without"] = [interlock.capture().run(seen), state.run(seen), seen()]
    return found


def _kinds(torch):
    return [
        (torch.no_grad, [False, False, False]),
        (torch.enable_grad, NOTHING),
        (torch.inference_mode, [True, False, False]),
        (lambda: torch.autocast("cpu"), [False, True, True]),
    ]


def overlap_tasks(tasks, isolates):
    """Overlap tasks with modes of their own; return the steps and the wrong modes, with and without `carry`.

    With `isolates` the tasks run under `interlock.aio`, else under plain asyncio.
    """
    import torch
    from interlock.integrations.torch import carry

    run = aio.run if isolates else asyncio.run
    steps = wrong = 0

    def check(wanted):
        nonlocal steps, wrong
        steps += 1
        wrong += seen() != wanted

    async def work(seed):
        choose = random.Random(seed)
        for _ in range(4):
            enter, wanted = choose.choice(_kinds(torch))
            with enter():
                for _ in range(3):
                    check(wanted)
                    await asyncio.sleep(choose.random() * 0.002)
                    check(wanted)
            check(NOTHING)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*map(work, range(tasks)))

    with carry():
        run(main())
    carried = [steps, wrong, seen()]
    steps = wrong = 0
    # In a thread of its own, because its modes are wrong at the end.
    thread = threading.Thread(target=run, args=(main(),))
    thread.start()
    thread.join()
    return {"carried": carried, "without": [steps, wrong]}


def overlap_threads(threads):
    """Apply captured states on many threads at a time; return the checks and the wrong modes."""
    import torch
    from interlock.integrations.torch import carry

    checks, wrong = [0] * threads, [0] * threads
    with carry():
        states = []
        for enter, wanted in _kinds(torch):
            with enter():
                states.append((interlock.capture(), wanted))

        def work(index):
            choose = random.Random(index)
            for _ in range(50):
                (outer, outside), (inner, inside) = choose.choices(states, k=2)
                with outer.apply():
                    wrong[index] += seen() != outside
                    time.sleep(0)
                    with inner.apply():
                        wrong[index] += seen() != inside
                    wrong[index] += seen() != outside
                wrong[index] += seen() != NOTHING
                checks[index] += 4

        workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return [sum(checks), sum(wrong)]


def follow_modes():
    """Return what PyTorch has while interlock sets modes."""
    import torch
    from interlock.integrations.torch import follow

    found = {}
    with follow():
        with interlock.no_grad():
            found["no_grad"] = seen()
            with interlock.enable_grad():
                found["enable_grad inside"] = seen()
            found["after it"] = seen()
        with interlock.inference_mode():
            found["inference_mode"] = seen()
        with torch.no_grad():
            found["inside torch.no_grad"] = seen()
            with interlock.enable_grad():
                found["enable_grad inside it"] = seen()
            found["inside it again"] = seen()
            with interlock.Executor(1) as pool:
                found["submitted inside it"] = pool.submit(seen).result()
        interlock.set_grad_enabled(False)
        found["written"] = seen()
        interlock.set_grad_enabled(True)
        interlock.state.set_process_defaults(grad_enabled=False)
        thread_seen = []

        def look():
            # A thread follows with its first call into interlock.
            interlock.is_grad_enabled()
            thread_seen.append(seen())

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        found["process, on a thread"] = thread_seen[0]
        interlock.state.set_process_defaults(grad_enabled=None)
    with interlock.no_grad():
        found["released"] = seen()
        with follow():
            found["scope open before"] = seen()
        found["released in the scope"] = seen()
    found["after it all"] = seen()
    return found


def follow_inside_scopes_of_torch():
    """Return what PyTorch has in and after scopes of interlock inside of scopes of PyTorch."""
    import torch
    from interlock import state
    from interlock.integrations.torch import follow

    def inside(scope):
        with scope:
            first = seen()
        return [first, seen()]

    no_grad, enable_grad, inference_mode = interlock.no_grad, interlock.enable_grad, interlock.inference_mode
    decorated = no_grad()(seen)
    found = {}
    with follow():
        # The scopes set what interlock has already, and PyTorch has not.
        with no_grad(), torch.enable_grad():
            found["no_grad again"] = [*inside(no_grad()), decorated(), seen()]
            found["captured"] = [interlock.capture().run(seen), seen()]
        with enable_grad(), torch.no_grad():
            found["enable_grad again"] = inside(enable_grad())
            found["no_grad"] = [*inside(no_grad()), decorated(), seen()]
            found["applied"] = inside(interlock.capture().apply())
        with inference_mode(), torch.inference_mode(False):
            found["inference_mode again"] = inside(inference_mode())
            found["no_grad, not inference"] = inside(no_grad())
        found["between"] = seen()
        interlock.set_grad_enabled(True)
        with torch.no_grad():
            found["after a write"] = [seen(), *inside(enable_grad()), *inside(no_grad())]
            with enable_grad(), torch.no_grad(), no_grad():
                # An exit out of order: the scopes inside of it stay.
                outer = enable_grad()
                outer.__enter__()
                with torch.no_grad(), no_grad():
                    outer.__exit__(None, None, None)
                    found["exit of an outer scope"] = [seen()]
                found["exit of an outer scope"].append(seen())
            found["written"] = []
            for value in (True, False, True):
                interlock.set_grad_enabled(value)
                found["written"].append(seen())
        found["PyTorch's scope ended"] = seen()
        state.set_process_defaults(grad_enabled=True)
        with torch.no_grad():
            found["over the process"] = inside(no_grad())
        state.set_process_defaults(grad_enabled=None)
    found["released"] = seen()
    return found


def follow_precision():
    """Return what both interfaces of PyTorch read under a precision of interlock, and after it."""
    import torch
    from interlock.integrations.torch import follow

    def read():
        try:
            old = torch.get_float32_matmul_precision()
        except RuntimeError:
            old = "raises"
        return [torch._C._get_fp32_precision_getter("cuda", "matmul"), old]

    with follow():
        interlock.set_float32_matmul_precision("high")
        found = read()
        backends.reset()
    return [found, read()]


def follow_in_tasks(isolates):
    """Return the modes of PyTorch at the steps of tasks that are decorated with modes of interlock."""
    import torch
    from interlock.integrations.torch import follow

    wrong = 0

    def check(wanted):
        nonlocal wrong
        wrong += seen() != wanted

    @interlock.inference_mode()
    async def infer():
        for _ in range(5):
            check([True, False, False])
            await asyncio.sleep(0.001)

    async def train():
        for _ in range(5):
            check(NOTHING)
            await asyncio.sleep(0.001)

    async def mix():
        with torch.no_grad(), interlock.enable_grad():
            for _ in range(5):
                check(NOTHING)
                await asyncio.sleep(0.001)
        check(NOTHING)

    async def suspend_inside():
        with interlock.no_grad():
            await asyncio.sleep(0)
            check([False, False, False])

    async def main():
        # A step begins where the mode is set, after one that has unset it.
        await asyncio.gather(suspend_inside(), suspend_inside())
        check(NOTHING)
        await asyncio.gather(*(task() for _ in range(20) for task in (infer, train, mix)))

    with follow():
        (aio.run if isolates else asyncio.run)(main())
    return [wrong, seen()]


def follow_on_pools():
    """Return PyTorch's modes in functions that one thread of a pool runs in contexts of tasks."""
    from interlock.integrations.torch import follow

    def inherit():
        # The thread sees the context with its first call into interlock.
        return [interlock.is_grad_enabled(), seen()]

    def enter():
        with interlock.inference_mode():
            return [interlock.is_grad_enabled(), seen()]

    async def main(executor):
        asyncio.get_running_loop().set_default_executor(executor)
        found = {}
        for function in (inherit, enter):
            with interlock.no_grad():
                inside = await asyncio.to_thread(function)
            # Calls PyTorch only.
            found[function.__name__] = [inside, await asyncio.to_thread(seen)]
        return found

    found = {}
    with follow():
        for kind in (concurrent.futures.ThreadPoolExecutor, interlock.Executor):
            with kind(1) as executor:
                found[kind.__name__] = aio.run(main(executor))
    return found


def abandon_generators():
    """Return PyTorch's modes in tasks that have left async generators before their end."""
    import torch
    from interlock.integrations.torch import follow

    async def batches(scope):
        with scope:
            yield 1
            yield 2

    async def abandon(scope):
        async for _ in batches(scope):
            break
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        interlock.is_grad_enabled()
        return seen()

    async def close(scope):
        async with contextlib.aclosing(batches(scope)) as generator:
            async for _ in generator:
                break
        return seen()

    with follow():
        return {
            "no_grad of PyTorch": aio.run(abandon(torch.no_grad())),
            "closed": aio.run(close(torch.no_grad())),
            "no_grad of interlock": aio.run(abandon(interlock.no_grad())),
            "after the task": seen(),
        }


def follow_the_process_in_tasks():
    """Return PyTorch's modes in a task that was suspended while the defaults of the process changed."""
    from interlock.integrations.torch import follow

    async def look(found):
        for _ in range(4):
            interlock.is_grad_enabled()
            found.append(seen()[1])
            await asyncio.sleep(0)

    async def main():
        found = []
        task = asyncio.create_task(look(found))
        for enabled in (None, False, None):
            interlock.state.set_process_defaults(grad_enabled=enabled)
            await asyncio.sleep(0)
        await task
        return found

    with follow():
        return [aio.run(main()), seen()[1]]


def follow_a_change_that_is_reported_late():
    """Assign a flag before another thread's earlier change of it is reported to `follow`."""
    import torch
    from interlock.integrations.torch import follow

    is_changed, is_later = threading.Event(), threading.Event()

    def delay(change):
        if threading.current_thread() is thread:
            is_changed.set()
            is_later.wait(60)

    thread = threading.Thread(target=setattr, args=(backends.cudnn, "benchmark", True))
    # The functions are called in the order of their registration.
    with backends.on_change(delay), follow():
        thread.start()
        is_changed.wait(60)
        backends.cudnn.benchmark = False
        is_later.set()
        thread.join()
        return [backends.cudnn.benchmark, torch.backends.cudnn.benchmark]


def follow_flags_of_a_library_that_refuses_to_put_back():
    """Return the warnings, and what holds the other flag of a layer of which PyTorch refuses one."""
    import torch
    from interlock.integrations.torch import follow

    write, is_refusing = torch._C._set_cudnn_benchmark, False

    def refuse(value):
        if is_refusing:
            raise RuntimeError("refused")
        write(value)

    torch._C._set_cudnn_benchmark = refuse
    with follow(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with backends.cudnn.flags(deterministic=True):
            backends.cudnn.benchmark = True
            is_refusing = True
        is_refusing = False
        held = settings.explain("torch.backends.cudnn.deterministic").held_by
    return [[str(each.message).partition(": override")[0] for each in caught], list(held)]


def follow_flags():
    """Return what PyTorch's flags are while interlock's flags are written and scoped."""
    import torch
    from interlock.integrations.torch import follow

    cudnn = torch.backends.cudnn
    backends.cudnn.deterministic = True
    found = {}
    with follow():
        found["assigned before"] = cudnn.deterministic
        backends.cudnn.benchmark = True
        found["assigned"] = cudnn.benchmark
        found["who"] = settings.explain("torch.backends.cudnn.benchmark").writes[-1].function
        backends.cuda.matmul.allow_tf32 = True
        found["alias"] = torch.backends.cuda.matmul.fp32_precision
        read = (
            torch.are_deterministic_algorithms_enabled,
            torch.is_deterministic_algorithms_warn_only_enabled,
            torch._C._get_deterministic_fill_uninitialized_memory,
            lambda: torch.backends.cuda.preferred_linalg_library().name.lower(),
        )
        found["other names"] = [[each() for each in read]]
        interlock.use_deterministic_algorithms(True, warn_only=True)
        with backends.override(
            {"deterministic_fill_uninitialized_memory": False, "cuda.linalg_library": "cusolver"}
        ):
            found["other names"].append([each() for each in read])
        interlock.use_deterministic_algorithms(False)
        found["other names"].append([each() for each in read])
        del backends.cudnn.benchmark
        found["unset"] = cudnn.benchmark
        with backends.override({"cudnn.enabled": False, "cudnn.conv.fp32_precision": "ieee"}):
            found["scope"] = [cudnn.enabled, cudnn.conv.fp32_precision]
            backends.cudnn.enabled = True
            found["write in the scope"] = cudnn.enabled
        found["after the scope"] = [cudnn.enabled, cudnn.conv.fp32_precision]
        held = settings.override({"torch.backends.cudnn.enabled": True})
        with held, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")

            def conflict():
                with backends.override({"cudnn.enabled": False}):
                    found["conflict"] = [backends.cudnn.enabled, cudnn.enabled]

            thread = threading.Thread(target=conflict)
            thread.start()
            thread.join()
        found["warned"] = [warning.category.__name__ for warning in caught]
        backends.cudnn.benchmark = True
    found["released"] = [cudnn.deterministic, cudnn.benchmark]
    return found


def flags_without_effect():
    """Return the names of flags that are on or off, and whose scopes change no setting of PyTorch."""
    from interlock.integrations.torch import follow

    def changes_torch(name, value):
        with backends.override({name: value}):
            changes = settings.diff(before, settings.snapshot())
        return any(change.name.startswith("torch.") for change in changes)

    with follow():
        before = settings.snapshot()
        names = [flag.name for flag in backends.describe() if flag.accepts == "a bool"]
        # PyTorch's own values are not always the defaults: without opt_einsum its flag is off.
        return [name for name in names if not any(changes_torch(name, value) for value in (False, True))]


def disable_tf32_on_many_threads():
    """Return the errors of threads that call one decorated function, where the guard does nothing."""
    from interlock.integrations import _torch_tf32

    _torch_tf32._functions = lambda: dict.fromkeys(("enter", "exit"), lambda guard: None)
    decorated, errors = _torch_tf32.no_tf32(lambda: None), []
    sys.setswitchinterval(1e-7)

    def call():
        try:
            for _ in range(20_000):
                decorated()
        except Exception as error:
            errors.append(repr(error))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def disable_tf32():
    """Return whether TF32 is disabled on threads in and outside of the scope."""
    import ctypes
    from pathlib import Path

    import torch
    from interlock.integrations.torch import no_tf32

    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    is_disabled = library._ZN2at11NoTF32Guard19should_disable_tf32Ev
    is_disabled.restype = ctypes.c_bool
    found = [is_disabled()]
    scope = no_tf32()
    with scope, scope:
        found.append(is_disabled())
        elsewhere = []

        def look():
            elsewhere.append(is_disabled())
            try:
                scope.__exit__(None, None, None)
            except RuntimeError as error:
                elsewhere.append(str(error))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        found += elsewhere
    found.append(is_disabled())
    found.append(no_tf32()(is_disabled)())
    found.append(no_tf32(is_disabled)())

    @no_tf32
    async def suspended():
        await asyncio.sleep(0)
        return is_disabled()

    async def elsewhere_meanwhile():
        await asyncio.sleep(0)
        return is_disabled()

    async def both():
        return await asyncio.gather(suspended(), elsewhere_meanwhile())

    found += asyncio.run(both())
    found.append(is_disabled())
    return found


def disable_tf32_without_the_guard():
    """Return the error where PyTorch does not export the guard."""
    from interlock.integrations.torch import no_tf32

    try:
        no_tf32()
    except interlock.errors.UnsupportedError as error:
        return str(error)
    return None
