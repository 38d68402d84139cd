"""Values of threads of the system."""

import ctypes
import json
import os
import threading

fork_meanwhile = []
# The last function that was registered is called first: this one after those of interlock.
os.register_at_fork(before=lambda: fork_meanwhile and fork_meanwhile.pop()())

from interlock.integrations._of_thread import OfThread  # noqa: E402


def values_of_a_thread_that_python_did_not_start():
    """Return what the second call on such a thread finds: of `OfThread`, and of `threading.local`."""
    library = ctypes.CDLL(None)
    values, local, found = OfThread(), threading.local(), []
    key, thread = ctypes.c_ulong(0), ctypes.c_ulong(0)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def at_end(_):
        found.append([values.get(), getattr(local, "value", None)])
        values.set(None)

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def start(_):
        values.set("of the first call")
        local.value = "of the first call"
        library.pthread_setspecific(key, ctypes.c_void_p(1))

    library.pthread_key_create(ctypes.byref(key), at_end)
    library.pthread_create(ctypes.byref(thread), None, start, None)
    library.pthread_join(thread, None)
    return [*found, values.get(), len(values._values)]


def value_in_a_forked_child():
    """Return the values of the thread that forks and of another thread, in the child."""
    values = OfThread()
    values.set("of the main thread")
    entered, leave = threading.Event(), threading.Event()

    def other():
        values.set("of another thread")
        entered.set()
        leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(30)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps([values.get(), len(values._values)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    leave.set()
    thread.join()
    return json.loads(os.read(reading, 1_000))


def value_in_a_child_while_another_thread_forks():
    """Fork between the preparation and the fork of the main thread. Return the value in the child of that."""
    values = OfThread()
    values.set("of the main thread")
    thread = threading.Thread(target=lambda: os.waitpid(os.fork() or os._exit(0), 0))
    fork_meanwhile.append(lambda: (thread.start(), thread.join()))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(values.get()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads(os.read(reading, 1_000))
