"""Contexts that are copied inside a scope, and run later, twice, and on another thread."""

import contextvars
import threading

from subject import finish, get, scope, show

with scope(2):
    kept = contextvars.copy_context()
show(get(), kept.run(get), kept.run(get))
thread = threading.Thread(target=lambda: show(kept.run(get), get()))
thread.start()
thread.join()


def inner() -> list[int]:
    with scope(8):
        return [get(), contextvars.copy_context().run(get)]


show(kept.run(inner), kept.run(get), get())
with scope(6):
    show(contextvars.Context().run(get))
finish()
