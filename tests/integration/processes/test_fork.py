"""A forked child finds flags and modes as its thread had them, and no lock that nobody will release."""

from __future__ import annotations

from tests.helpers.subprocess import run_python


def test_a_child_forked_in_the_middle_of_scopes_and_writes_goes_on() -> None:
    done = run_python(
        """
        import os, signal, threading
        import interlock
        from interlock import backends

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
        """
    )
    assert (done.code, done.stdout) == (0, "{0} True False\n"), done.stderr


def test_a_child_forked_by_a_task_has_the_state_of_that_task_and_goes_on_with_the_others() -> None:
    done = run_python(
        """
        import asyncio, os, signal, threading
        import interlock
        from interlock import aio, backends

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
        """
    )
    assert (done.code, done.stdout) == (0, "0 True False\n"), done.stderr
