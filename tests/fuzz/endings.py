"""Processes that exit at random moments: each must exit in time, with its own status and without a crash.

A program creates streams with pending work, open scopes, waiting threads, graphs that are being captured,
and objects whose destructors call into interlock when the interpreter ends. Then it returns, exits, forks
or receives a signal.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.actions import Actions
from tests.fuzz.harness import PANIC
from tests.helpers.subprocess import PROGRAMS, child_environment

SECONDS = 40.0
SECONDS_OF_A_PLANTED_HANG = 3.0
SECONDS_TO_TRACE = 5.0

PREAMBLE = (PROGRAMS / "fuzz" / "endings_setup.py").read_text()

# Calls of a function that runs at exit; names are bound early, since modules are emptied by then.
WORDS = (
    "accelerator.is_available()",
    "accelerator.device_count()",
    "accelerator.synchronize()",
    "accelerator.current_stream().synchronize()",
    "stream.synchronize()",
    "stream.query()",
    "stream.record_event()",
    "stream.wait_event(event)",
    "stream.wait_stream(streams[1])",
    "event.record(stream)",
    "event.synchronize()",
    "event.query()",
    "interlock.Stream('host:1').synchronize()",
    "interlock.Event().record()",
    "accelerator.launch(stream, len, 'x')",
    "(accelerator.launch(stream, len, 'x'), stream.synchronize())",
    "accelerator.launch(interlock.Stream(), never.wait)",
    "(accelerator.launch(streams[3], len, 'x'), accelerator.synchronize(1))",
    "Buffer(64)",
    "buffer.fill_(1)",
    "buffer.close()",
    "copy_(buffer, bytes(1 << 12))",
    "copy_(bytearray(1 << 12), buffer)",
    "fill_(buffer, 3, stream=stream)",
    "bytes(buffer)",
    "graph.replay()",
    "graph.reset()",
    "graph.capture_end()",
    "accelerator.Graph().capture_begin()",
    "accelerator.empty_cache()",
    "accelerator.memory_stats()",
    "memory.snapshot()",
    "memory.history()",
    "memory.set_limit('50%')",
    "memory.on_oom(len)",
    "memory.MemoryTracker().__enter__()",
    "memory.empty_host_cache()",
    "accelerator.set_device_index(1)",
    "accelerator.device_index(1).__enter__()",
    "accelerator.device_properties()",
    "interlock.ones(3, device='host:1').sum().item()",
    "(interlock.ones(3, device='host', requires_grad=True) * 2).sum().backward()",
    "interlock.ones(3).pin_memory().to('host', non_blocking=True)",
    "interlock.ones(300, 300).matmul(interlock.ones(300, 300))",
    "interlock.capture().run(len, 'x')",
    "interlock.capture().apply().__enter__()",
    "interlock.no_grad().__enter__()",
    "interlock.set_grad_enabled(False)",
    "next(numbers())",
    "backends.frozen().__enter__()",
    "backends.disable_global_flags()",
    "backends.cudnn.flags().__enter__()",
    "setattr(backends.cudnn, 'enabled', False)",
    "backends.snapshot()",
    "backends.register('fuzz.flag', True)",
    "backends.libraries.find('cudnn')",
    "aio.run(asyncio.sleep(0))",
    "state.capture()",
    # `threading.Thread.start` blocks forever at this time, in CPython.
    "_thread.start_new_thread(len, ('x',))",
    "gc.collect()",
    "os.close(os.dup(1))",
)

# Where an object whose destructor makes the last call is stored.
PLACES = (
    "builtins.last{n} = Last(lambda {names}: {words})",
    "last{n} = Last(lambda {names}: {words})",
    "sys.modules['last{n}'] = Last(lambda {names}: {words})",
    "interlock.last{n} = Last(lambda {names}: {words})",
    "accelerator.last{n} = Last(lambda {names}: {words})",
    "cycle = [Last(lambda {names}: {words})]; cycle.append(cycle); del cycle",
    "kept.append(Last(lambda {names}: {words}))",
    "kept.append(threading.local()); kept[-1].last = Last(lambda {names}: {words})",
    "accelerator.launch(streams[2], never.wait, Last(lambda {names}: {words}))",
    "atexit.register(lambda {names}: {words})",
    "weakref.finalize(Last, lambda {names}: {words})",
    "kept.append(interlock.no_grad()(lambda: None)); kept[-1].last = Last(lambda {names}: {words})",
)
# Calls that may wait for a stream. Exit handlers run while the streams do, and would block forever.
WAITS = (
    "synchronize",
    "copy_",
    "bytes(",
    "item()",
    "backward()",
    ".to(",
    "capture_begin",
    "close()",
    "collect()",
)
BOUND = (
    "interlock accelerator aio asyncio backends state threading memory Buffer copy_ fill_ stream streams "
    "event buffer graph never numbers gc os len _thread"
)

SETUPS = (
    "accelerator.launch(random.choice(streams), never.wait)",
    "accelerator.launch(random.choice(streams), spin)",
    "accelerator.launch(random.choice(streams), time.sleep, 0.01)",
    "accelerator.launch(random.choice(streams), os.getpid)",
    "threading.Thread(target=random.choice(streams).synchronize, daemon=True).start()",
    "threading.Thread(target=event.synchronize, daemon=True).start()",
    "threading.Thread(target=time.sleep, args=(0.02,)).start()",
    "threading.Thread(target=accelerator.synchronize, daemon=True).start()",
    "event.record(random.choice(streams)); random.choice(streams).wait_event(event)",
    "timed.record(stream)",
    "copy_(buffer, os.urandom(1 << 12), non_blocking=True)",
    "fill_(buffer, 1)",
    "kept.append(Buffer(1 << 16, random.randrange(2)))",
    "kept.append(memoryview(buffer))",
    "kept.append(interlock.ones(64, 64, device='host:1') @ interlock.ones(64, 64, device='host:1'))",
    "kept.append((interlock.ones(3, requires_grad=True) * 2).sum())",
    "interlock.no_grad().__enter__()",
    "interlock.inference_mode().__enter__()",
    "backends.cudnn.flags().__enter__()",
    "backends.frozen().__enter__()",
    "interlock.capture().apply().__enter__()",
    "interlock.Stream().__enter__()",
    "memory.MemoryTracker().__enter__()",
    "memory.history()",
    "memory.on_oom(lambda error: True)",
    "kept.append(numbers()); next(kept[-1])",
    "streams[2].__enter__(); graph.capture_begin(); fill_(buffer, 2, stream=streams[2])",
    "loop(lambda: interlock.ones(3, device='host:1').sum().item())",
    "loop(lambda: interlock.capture().run(interlock.is_grad_enabled))",
    "loop(lambda: backends.override({'cudnn.enabled': False}).__enter__())",
    "loop(lambda: interlock.Stream().synchronize())",
    "loop(lambda: Buffer(1 << 10).close())",
    "loop(lambda: accelerator.launch(interlock.Stream(), len, 'x'))",
    "loop(lambda: next(numbers()))",
    "loop(lambda: interlock.ones(200, 200).matmul(interlock.ones(200, 200)))",
)


class Ending(NamedTuple):
    """A way in which a program exits."""

    name: str
    code: str
    status: int


def endings(drawn: random.Random) -> list[Ending]:
    """Return the endings, with a random delay if they need one."""
    delay = drawn.choice((0.0001, 0.001, 0.01, 0.05))
    return [
        Ending("returns", "pass", 0),
        Ending("exits", "sys.exit(3)", 3),
        Ending("exits at once", "os._exit(7)", 7),
        Ending("raises", "raise ValueError('on purpose')", 1),
        Ending("exits with text", "raise SystemExit('text')", 1),
        Ending("a thread exits", "threading.Thread(target=sys.exit, args=(9,)).start()", 0),
        Ending(
            "a thread exits at once",
            "threading.Thread(target=os._exit, args=(9,)).start(); time.sleep(30)",
            9,
        ),
        Ending("SIGTERM", f"be_killed_by(signal.SIGTERM, {delay})", -signal.SIGTERM),
        Ending("SIGINT by default", f"be_killed_by(signal.SIGINT, {delay})", -signal.SIGINT),
        Ending(
            "SIGALRM by default",
            f"signal.setitimer(signal.ITIMER_REAL, {delay})\nwork_until([])",
            -signal.SIGALRM,
        ),
        Ending("a handler exits", f"exit_from_a_handler({delay})", 5),
        Ending("interrupts itself", "signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
        Ending(
            "exits in a scope",
            "with interlock.no_grad(), backends.frozen(), interlock.Stream():\n    sys.exit(4)",
            4,
        ),
        Ending("exits in a generator", "def g():\n    yield sys.exit(6)\nnext(interlock.no_grad()(g)())", 6),
    ]


def bound() -> str:
    """Return parameters that bind the names that a last call uses."""
    return ", ".join(f"{name}={name}" for name in BOUND.split())


class Ended(NamedTuple):
    """The outcome of a process."""

    code: int | None
    """The exit status; None if the process was killed after the timeout."""
    stderr: str


class Program:
    """A random program and its expected exit status."""

    def __init__(self, drawn: random.Random, fault: str) -> None:
        self.random = drawn
        self.number = 0
        parts = [PREAMBLE, f"random.seed({drawn.randrange(1 << 30)})"]
        parts += self.middle()
        if drawn.random() < 0.25:
            parts += self.fork()
            parts += self.middle(3)
        ending = drawn.choice(endings(drawn))
        self.name = ending.name
        self.status = ending.status
        planted = {
            "crash": "import ctypes; ctypes.string_at(0)",
            "hang": "threading.Event().wait()",
            "panic": "print(\"thread 'x' panicked at planted\", file=sys.stderr)",
            "wrong": "os._exit(98)",
        }
        parts += [planted[fault]] if fault else []
        self.code = "\n".join([*parts, ending.code])

    def middle(self, most: int = 8) -> list[str]:
        """Return work that stays pending, and objects whose destructors make a last call."""
        lines = []
        for _ in range(self.random.randrange(most)):
            self.number += 1
            if self.random.random() < 0.6:
                lines.append(guarded(self.random.choice(SETUPS)))
            else:
                words = self.random.choice(WORDS)
                place = self.random.choice(PLACES)
                if place.startswith(("atexit", "weakref")) and any(word in words for word in WAITS):
                    words = "accelerator.device_count()"
                lines.append(guarded(place.format(n=self.number, names=bound(), words=words)))
        return lines

    def fork(self) -> list[str]:
        """Return code that forks; the child exits on its own, and its status is checked."""
        ending = self.random.choice(endings(self.random))
        inner = "\n".join([*self.middle(4), ending.code])
        return [
            "child = os.fork()",
            "if child == 0:",
            textwrap.indent(inner, "    "),
            "    sys.exit(0)",
            "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])",
            f"if status != {ending.status}:",
            f"    print('the child that {ending.name} ended with', status, file=sys.stderr)",
            "    os._exit(99)",
        ]

    def run(self, seconds: float) -> Ended:
        """Run the program."""
        with tempfile.TemporaryDirectory(prefix="interlock-ending-") as folder:
            script, errors = Path(folder, "program.py"), Path(folder, "stderr")
            script.write_text(self.code)
            with errors.open("wb") as stderr:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-W", "ignore", str(script)],
                    cwd=folder,
                    env=child_environment({"INTERLOCK_ACCELERATOR": "host:2", "PYTHONFAULTHANDLER": "1"}),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    process_group=0,
                )
                try:
                    code: int | None = process.wait(seconds)
                except subprocess.TimeoutExpired:
                    code = None
                    # The process that hangs may be a forked child.
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGABRT)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(SECONDS_TO_TRACE)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return Ended(code, errors.read_text(errors="replace"))


def guarded(code: str) -> str:
    """Return code whose exceptions are ignored: a frozen flag or a capturing stream may refuse it."""
    return f"try:\n    {code}\nexcept Exception:\n    pass"


def judged(program: Program, ended: Ended) -> str | None:
    """Return the failures of a process."""
    if ended.code is None:
        return "hang: no end"
    if PANIC.search(ended.stderr):
        return "panic: a panic on stderr"
    if ended.code != program.status:
        what = "crash: " if ended.code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS) else ""
        return f"{what}status {ended.code} instead of {program.status}"
    if "Fatal Python error" in ended.stderr:
        return "crash: a fatal error on stderr"
    return None


def run(actions: Actions) -> None:
    """Run `actions.count` processes, one after the other."""
    for _ in actions:
        fault = actions.planted()
        program = Program(random.Random(actions.random.random()), fault)
        actions.doing(f"a process that {program.name}")
        ended = program.run(SECONDS_OF_A_PLANTED_HANG if fault == "hang" else SECONDS)
        wrong = judged(program, ended)
        if wrong:
            text = program.code.removeprefix(PREAMBLE).replace(bound(), "...")
            actions.wrong(
                f"{wrong}, of a process that {program.name}:\n{text}\nstderr:\n{ended.stderr[-2500:]}"
            )
