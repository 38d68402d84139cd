"""Forks during scopes and writes."""

import os
import signal
import sys
import threading
import time

import interlock
from interlock import aio, backends


def fork_during_scopes_and_writes_leaves_a_working_child():
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            with backends.cudnn.flags(enabled=False), interlock.no_grad():
                backends.mkldnn.deterministic = True
            with backends.frozen():
                pass

    threads = [threading.Thread(target=disturb) for _ in range(4)]
    for thread in threads:
        thread.start()
    codes = []
    with backends.override({"cudnn.benchmark": True}), interlock.no_grad():
        for _ in range(50):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                seen = backends.cudnn.benchmark, backends.cudnn.enabled, interlock.is_grad_enabled()
                with backends.cudnn.flags(enabled=False), interlock.enable_grad():
                    seen += backends.cudnn.enabled, interlock.is_grad_enabled()
                backends.cudnn.deterministic = True
                seen += (backends.cudnn.deterministic,)
                os._exit(0 if seen == (True, True, False, False, True, True) else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    print(set(codes), interlock.is_grad_enabled(), backends.cudnn.benchmark)


def fork_during_the_first_use_of_a_module_leaves_a_working_child(statement, slow):
    begun = threading.Event()

    class Slow:
        """Finds no module, and takes long for one of them."""

        @staticmethod
        def find_spec(name: str, path: object, target: object = None) -> None:
            if name == slow:
                begun.set()
                time.sleep(0.3)

    sys.meta_path.insert(0, Slow)
    thread = threading.Thread(target=exec, args=(statement, globals()))
    thread.start()
    begun.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        exec(statement, globals())
        os._exit(0)
    thread.join()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def fork_in_a_task_keeps_its_state_and_the_other_tasks():
    import asyncio

    entered, leave = threading.Event(), threading.Event()

    def elsewhere() -> None:
        with backends.cudnn.flags(enabled=False):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    entered.wait()

    async def other() -> tuple[bool, bool]:
        with interlock.enable_grad(), backends.override({"cudnn.deterministic": True}):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return interlock.is_grad_enabled(), backends.cudnn.deterministic

    async def forks(tasks: list[asyncio.Task[tuple[bool, bool]]]) -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with interlock.no_grad(), backends.override({"cudnn.benchmark": True}):
            await asyncio.sleep(0)
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                # asyncio clears the running loop in the child, and since 3.14 the running task too and
                # refuses to step others without them.
                asyncio._set_running_loop(loop)
                if asyncio.current_task() is None:
                    asyncio.tasks._enter_task(loop, task)
            seen = [interlock.is_grad_enabled(), backends.cudnn.benchmark, backends.cudnn.enabled]
            seen += await tasks[0]
            right = seen == [False, True, True, True, True] and not interlock.is_grad_enabled()
            if pid == 0:
                os._exit(0 if right else 1)
            assert right
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    async def main() -> int:
        return await forks([asyncio.create_task(other())])

    print(aio.run(main()), interlock.is_grad_enabled(), backends.cudnn.benchmark)
    leave.set()
    thread.join()


def frozen_worker_refuses_other_flags():
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    stale = backends.snapshot()
    backends.cudnn.deterministic = True
    backends.disable_global_flags()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork, initializer=stale.install) as pool:
        try:
            pool.submit(backends.flags_frozen).result()
        except BrokenProcessPool:
            print("broken")
