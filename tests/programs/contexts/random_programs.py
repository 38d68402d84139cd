"""Random programs: trees of actions on scopes, contexts, tasks, threads, greenlets and generators."""

import asyncio
import contextvars
import threading

import greenlet
from hypothesis import HealthCheck, given, settings, strategies
from subjects import Subject

SCOPES = strategies.integers(0, 3)
KEPT = strategies.integers(0, 2)
VALUES = strategies.integers(1, 9)
LEAVES = strategies.one_of(
    strategies.just(("show",)),
    strategies.just(("switch",)),
    strategies.tuples(strategies.sampled_from(["enter", "exit"]), SCOPES),
    strategies.tuples(strategies.just("copy"), KEPT),
    strategies.tuples(strategies.sampled_from(["start", "next", "close"]), KEPT, VALUES),
)


def inner(bodies):
    """Return the actions that have a body."""
    body = strategies.lists(bodies, max_size=4)
    return strategies.one_of(
        strategies.tuples(strategies.just("with"), VALUES, body),
        strategies.tuples(strategies.just("run"), KEPT, body),
        strategies.tuples(
            strategies.sampled_from(["task", "call_soon", "thread", "copied thread", "greenlet"]), body
        ),
    )


PROGRAMS = strategies.lists(strategies.recursive(LEAVES, inner, max_leaves=25), min_size=1, max_size=12)


class Machine:
    """Runs a program with one subject. One thread at a time runs, which determines the order."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.scopes = [subject.scope(value) for value in (1, 2, 5, 8)]
        self.kept: dict[int, contextvars.Context] = {}
        self.generators: dict[int, object] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.loop_thread = threading.current_thread()

    def generator(self, value: int):
        with self.subject.scope(value):
            yield
            yield

    def simple(self, action) -> None:
        """Run an action without a body, or with one that is no coroutine."""
        match action:
            case ("show" | "switch",):
                self.subject.show(self.subject.get())
            case ("enter", number):
                self.scopes[number].__enter__()
            case ("exit", number):
                self.scopes[number].__exit__(None, None, None)
            case ("copy", number):
                self.kept[number] = contextvars.copy_context()
            case ("start", number, value):
                self.generators[number] = self.generator(value)
                next(self.generators[number])
            case ("next", number, _):
                next(self.generators.get(number, iter(())), None)
            case ("close", number, _):
                self.generators.pop(number, None)
            case ("with", value, body):
                with self.subject.scope(value):
                    self.sync(body)
            case ("run", number, body):
                context = self.kept.pop(number, None)
                if context is not None:
                    context.run(self.sync, body)
                    self.kept.setdefault(number, context)
            case ("task", body):
                if threading.current_thread() is self.loop_thread:
                    self.tasks.append(asyncio.get_running_loop().create_task(self.run(body)))
            case ("call_soon", body):
                if threading.current_thread() is self.loop_thread:
                    asyncio.get_running_loop().call_soon(self.sync, body)
            case ("thread" | "copied thread" as kind, body):
                copied = contextvars.copy_context() if kind == "copied thread" else contextvars.Context()
                thread = threading.Thread(target=copied.run, args=(self.sync, body))
                thread.start()
                thread.join()
            case ("greenlet", body):
                greenlet.greenlet(self.sync).switch(body)
        self.subject.show(self.subject.get())

    def sync(self, body) -> None:
        for action in body:
            self.simple(action)

    async def run(self, body) -> None:
        for action in body:
            match action:
                case ("switch",):
                    await asyncio.sleep(0)
                    self.subject.show(self.subject.get())
                case ("with", value, inside):
                    with self.subject.scope(value):
                        await self.run(inside)
                    self.subject.show(self.subject.get())
                case _:
                    self.simple(action)

    async def main(self, body) -> None:
        await self.run(body)
        while self.tasks:
            await self.tasks.pop(0)
        self.subject.show(self.subject.get())


def shown(name: str, body) -> list[object]:
    """Return what a program shows with one subject."""

    def run() -> list[object]:
        subject = Subject(name)
        asyncio.run(Machine(subject).main(body))
        subject.show(subject.get())
        return subject.shown

    return contextvars.Context().run(run)


def compare(examples: int, derandomize: bool) -> None:
    """Run random programs with interlock and with the oracle; fail at the first that shows other values."""

    @settings(
        max_examples=examples,
        derandomize=derandomize,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def same(body) -> None:
        assert shown("flag", body) == shown("oracle", body)
        assert shown("mode", body) == shown("oracle-of-modes", body)

    same()
