"""Traced scopes. Tests find lines by their trailing comments."""

import asyncio
import builtins
import contextlib
import contextvars
import gc
import json
import sys
import threading
import time
import warnings

import interlock
from interlock import accelerator, aio, backends, enable_grad, no_grad

caught = warnings.catch_warnings(record=True)
found = caught.__enter__()
warnings.simplefilter("always")


def on_a_thread(action):
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def wait_for_open_scopes(number):
    """Wait until threads have ended: `Thread.join` returns before the native part of the thread has."""
    deadline = time.monotonic() + 30
    while len(interlock.state.open_scopes()) > number and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)


def here(code, mode="exec"):
    """Return code that is compiled with the line number of the caller."""
    caller = sys._getframe(1)
    return compile("\n" * (caller.f_lineno - 1) + code, caller.f_code.co_filename, mode)


def print_warnings():
    caught.__exit__()
    shown = [(each.category.__name__, str(each.message), f"{each.filename}:{each.lineno}") for each in found]
    print("\n" + json.dumps(shown))


def a_suspended_generator(scope, consumer):
    def numbers():
        with eval(here(scope, "eval")):  # entered
            yield 1

    for number in numbers():
        exec(here(consumer))  # seen
        exec(here(consumer))  # seen again
    print_warnings()


def a_warning_that_is_an_error():
    warnings.simplefilter("error")

    def numbers():
        with no_grad():
            yield 1

    generator = numbers()
    next(generator)
    scope = enable_grad()
    try:
        scope.__enter__()
    except interlock.errors.ScopeWarning:
        result = [interlock.is_grad_enabled()]
    generator.close()
    result.append(interlock.is_grad_enabled())
    caught.__exit__()
    return result


def an_exit_on_another_thread():
    scope = backends.override({"cudnn.enabled": False})
    scope.__enter__()  # entered

    def leave():
        scope.__exit__(None, None, None)  # left

    on_a_thread(leave)
    print_warnings()


def warnings_of_a_loop():
    caught.__exit__()
    for _ in range(3):
        no_grad().__exit__()  # exited
        scope = no_grad()
        scope.__enter__()
        on_a_thread(lambda: scope.__exit__(None, None, None))  # left

        on_a_thread(lambda: no_grad().__enter__())  # of a thread
        enable_grad().__enter__()  # open
    wait_for_open_scopes(3)


def an_exit_out_of_order():
    first, second = no_grad(), enable_grad()
    first.__enter__()  # entered
    second.__enter__()  # entered later
    first.__exit__(None, None, None)  # left
    second.__exit__(None, None, None)
    print_warnings()


def exits_on_the_line_of_the_enter():
    def numbers():
        with no_grad():  # both
            yield 1

    generator = numbers()
    next(generator)
    on_a_thread(generator.close)
    scopes = [no_grad(), enable_grad()]
    for action in ("__enter__", "__exit__"):
        for scope in scopes:
            getattr(scope, action)(*[None] * 3 * (action == "__exit__"))  # all
    scopes[1].__exit__(None, None, None)  # again
    print_warnings()


def names_of_scopes():
    """Return the texts of warnings that name scopes of each kind."""
    accelerator.use("host")
    scopes = [
        no_grad(),
        interlock.set_grad_enabled(True),
        backends.override({"cudnn.enabled": False}),
        backends.cudnn.flags(),
        interlock.capture().apply(),
        interlock.device("cpu"),
        accelerator.device_index(0),
        interlock.Stream(),
        interlock.dispatch.record(),
    ]
    for scope in scopes:
        with interlock.state.scope_barrier():
            scope.__enter__()
    caught.__exit__()
    return [str(each.message) for each in found]


def exits_without_an_enter():
    """Exit scopes of each kind before and after their blocks, and return the texts of the warnings."""
    accelerator.use("host")
    scopes = [
        no_grad(),
        interlock.inference_mode(),
        interlock.set_grad_enabled(True),
        backends.override({"cudnn.enabled": False}),
        backends.frozen(),
        interlock.capture().apply(),
        interlock.device("cpu"),
        accelerator.device_index(0),
        interlock.Stream(),
        interlock.dispatch.record(),
        accelerator.use_mem_pool(accelerator.MemPool()),
        accelerator.memory.MemoryTracker(),
        interlock.state.scope_barrier(),
        interlock.autograd.detect_anomaly(),
        interlock.autograd.set_detect_anomaly(True),
        # Scopes that enter nothing.
        accelerator.device_index(None),
        backends.mkl.verbose(0),
    ]
    backends.mkl.verbose(1).__exit__(None, None, None)
    for _ in range(2):
        for scope in scopes:
            with interlock.enable_grad(), backends.override({"cudnn.benchmark": True}):
                scope.__exit__(None, None, None)
                state = (interlock.is_grad_enabled(), backends.cudnn.benchmark, backends.flags_frozen())
                assert state == (True, True, False), scope
            with scope:
                pass
    # The scope ends with the barrier, and then with its block.
    with interlock.state.scope_barrier():
        scope = no_grad()
        scope.__enter__()
    scope.__exit__(None, None, None)
    caught.__exit__()
    return [str(each.message) for each in found]


def with_statement():
    with no_grad(), backends.cudnn.flags(), interlock.capture().apply():
        interlock.capture()


def decorated_generator():
    @no_grad()
    def numbers():
        yield 1

    for _ in numbers():
        interlock.is_grad_enabled()


def context_manager():
    @contextlib.contextmanager
    def quiet():
        with no_grad():
            yield

    with quiet():
        interlock.is_grad_enabled()


def exit_stack():
    with contextlib.ExitStack() as stack:
        stack.enter_context(no_grad())
        interlock.capture()


def one_task():
    async def work():
        with no_grad():
            await asyncio.sleep(0)

    asyncio.run(work())


def function():
    interlock.set_grad_enabled(False)
    interlock.set_grad_enabled(True)


def ordinary_program(name):
    globals()[name]()
    print_warnings()


def scopes_of_ended_threads_and_tasks():
    def leaves_open():
        for _ in range(3):
            no_grad().__enter__()  # entered

    async def work():
        leaves_open()

    on_a_thread(leaves_open)
    aio.run(work())
    caught.__exit__()

    wait_for_open_scopes(0)
    print(interlock.state.open_scopes())


def scopes_of_an_ended_context():
    def leaves_open():
        no_grad().__enter__()  # entered

    async def main():
        await asyncio.create_task(work())
        # Until the next step the loop owns the task that has resumed this one.
        await asyncio.sleep(0)
        return interlock.state.open_scopes()

    async def work():
        leaves_open()

    context = contextvars.Context()
    context.run(leaves_open)
    result = [interlock.state.open_scopes()]
    del context
    result.append(interlock.state.open_scopes())
    result.append(asyncio.run(main()))
    contextvars.Context().run(leaves_open)
    caught.__exit__()
    return result


def scopes_open_at_the_end():
    def leaves_open():
        no_grad().__enter__()  # entered

    leaves_open()
    on_a_thread(leaves_open)
    wait_for_open_scopes(1)
    caught.__exit__()


def suspended_scopes_that_the_end_of_the_process_exits():
    def suspended():
        with no_grad():
            with no_grad():
                yield

    generators = [suspended(), suspended()]
    for each in generators:
        next(each)
    globals()["first"], globals()["second"] = generators
    # The list in a built-in module ends when nothing can be imported any more.
    builtins.kept = generators
    caught.__exit__()


def tasks_with_a_state_of_their_own():
    async def first():
        with no_grad():
            await asyncio.sleep(0)

    async def main():
        with enable_grad():
            await asyncio.gather(first(), first())

    asyncio.run(main())
    print_warnings()
