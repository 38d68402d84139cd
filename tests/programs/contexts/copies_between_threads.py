"""Contexts that move between threads: a scope lies above those that any thread entered before."""

import contextvars
import threading

from subjects import Subject, program


def on_thread(function):
    """Return the result of a call on a new thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@program
def scopes_of_two_threads(subject: Subject) -> None:
    """Threads take turns in one context and in its copies."""

    def scoped(value):
        with subject.scope(value):
            return subject.get(), contextvars.copy_context()

    shared = contextvars.copy_context()
    entered = []
    for value in range(1, 7):
        scope = subject.scope(value)
        entered.append(scope)
        run = on_thread if value % 2 else lambda function: function()
        run(lambda: shared.run(scope.__enter__))
        seen, copy = run(lambda: shared.run(scoped, value + 1))
        subject.show(
            value,
            shared.run(subject.get),
            seen,
            copy.run(scoped, 9)[0],
            on_thread(lambda: copy.run(scoped, 8)[0]),
        )
    for scope in entered[::2] + entered[1::2]:
        on_thread(lambda: shared.run(scope.__exit__, None, None, None))
        subject.show(shared.run(subject.get))
