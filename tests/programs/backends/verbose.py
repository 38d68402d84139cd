"""Scopes of verbose output of a fake library."""

import importlib
import os
import threading

from interlock import errors


def level_refused_by_the_library(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    with m.verbose(1):
        try:
            m.verbose(2).__enter__()
        except errors.LibraryError as error:
            assert "2" in str(error)
        else:
            raise SystemExit("accepted")


def run(module, code):
    """Run code."""
    m = importlib.import_module(f"interlock.backends.{module}")

    exec(code, globals() | {"m": m})


def scope_entered_twice(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    scope = m.verbose(1)
    with scope:
        with scope:
            pass
    scope.__exit__(None, None, None)


def scope_with_an_exception(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    try:
        with m.verbose(1):
            raise LookupError
    except LookupError:
        pass
    else:
        raise SystemExit("swallowed")


def scopes_and_a_fork(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    entered, left = threading.Event(), threading.Event()

    def other():
        with m.verbose(2):
            entered.set()
            left.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    if os.fork() == 0:
        with m.verbose(1):
            pass
        os._exit(0)
    os.wait()
    left.set()
    thread.join()


def scopes_of_many_threads(module):
    from concurrent.futures import ThreadPoolExecutor

    m = importlib.import_module(f"interlock.backends.{module}")

    def work(number):
        for _ in range(50):
            with m.verbose(1 + number % 2):
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def scopes_of_two_threads(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    entered, left = threading.Event(), threading.Event()

    def other():
        with m.verbose(2):
            entered.set()
            left.wait()

    thread = threading.Thread(target=other)
    with m.verbose(1):
        thread.start()
        entered.wait()
    left.set()
    thread.join()


def without_the_function(module):

    m = importlib.import_module(f"interlock.backends.{module}")

    result = []
    for _ in range(2):
        try:
            with m.verbose(m.VERBOSE_ON):
                result.append("entered")
        except AssertionError as error:
            result.append([type(error).__name__, isinstance(error, RuntimeError), str(error)])
    return result
