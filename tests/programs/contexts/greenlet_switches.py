"""Greenlets, each of which has a context of its own."""

import contextvars

import greenlet
from subjects import Subject, program


@program
def switches(subject: Subject) -> None:
    """Scopes of greenlets that switch in turns overlap without affecting each other."""
    main = greenlet.getcurrent()

    def body(number: int) -> None:
        subject.show("first", number, subject.get())
        with subject.scope(number):
            for _ in range(3):
                main.switch()
                subject.show("inside", number, subject.get())
        main.switch()
        subject.show("after", number, subject.get())

    with subject.scope(8):
        running = [greenlet.greenlet(body) for _ in range(4)]
        for number, each in enumerate(running, 1):
            each.switch(number)
            subject.show("main", subject.get())
        while any(running):
            for each in running:
                if each:
                    each.switch()
                    subject.show("main", subject.get())
    subject.show("end", subject.get())


@program
def contexts_that_are_given(subject: Subject) -> None:
    """A greenlet with a copy of the creator's context, with one that another shares, and one that raises."""
    main = greenlet.getcurrent()

    def body() -> None:
        subject.show("given", subject.get())
        with subject.scope(3):
            main.switch()
            subject.show("inside", subject.get())
        subject.show("after", subject.get())

    with subject.scope(5):
        copied = greenlet.greenlet(body)
        copied.gr_context = contextvars.copy_context()
    copied.switch()
    subject.show("main", subject.get(), copied.gr_context.run(subject.get))
    copied.switch()
    shared = contextvars.copy_context()
    for _ in range(2):
        each = greenlet.greenlet(body)
        each.gr_context = shared
        each.switch()
        each.gr_context = contextvars.Context()
        each.switch()
        subject.show("shared", subject.get(), shared.run(subject.get))
    raising = greenlet.greenlet(body)
    raising.switch()
    raising.throw()
    subject.show("thrown", subject.get())
