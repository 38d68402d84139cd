"""A program to watch; its first argument selects what it does."""

import inspect
import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings

import flags_at_import_later
import torch


def work():
    time.sleep(0.05)
    torch.set_num_threads(1)
    print("thread ended")


def ask():
    return multiprocessing.current_process().name


def fail():
    raise ValueError("a message")


class Stream:
    """A stream with the methods that `print` needs."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text):
        return self._stream.write(text)

    def flush(self):
        self._stream.flush()


if __name__ == "__main__":
    torch._C._set_grad_enabled(False)
    print(sys.argv[1:], __name__, __file__, sys.path[0], sys.flags.optimize, flush=True)
    print(sys.modules["__main__"].fail is fail, __package__, __spec__, flush=True)
    match sys.argv[1]:
        case "thread":
            threading.Thread(target=work, name="late").start()
        case "fail":
            fail()
        case "exit":
            sys.exit(int(sys.argv[2]))
        case "exit-text":
            sys.exit("the reason")
        case "exit-text-alone":
            sys.stderr = None
            sys.exit("the reason")
        case "replaced":
            sys.stdout, sys.stderr = Stream(sys.stdout), Stream(sys.stderr)
            print("output")
            print("error", file=sys.stderr)
        case "detached":
            sys.stderr = io.TextIOWrapper(sys.stderr.detach(), encoding="utf-8")
            print("error", file=sys.stderr)
        case "closed":
            sys.stdout.close()
            sys.stderr.close()
        case "exit-none":
            sys.exit()
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        case "hook":
            sys.excepthook = lambda *error: print("hook", error[0].__name__)
            fail()
        case "pipe":
            print(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)
        case "scope":
            with torch.backends.cudnn.flags(enabled=False, benchmark=False):
                pass
        case "spawn":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(ask), pickle.loads(pickle.dumps(ask)) is ask)
        case "fork":
            if os.fork() == 0:
                sys.exit(3)
            print(os.waitstatus_to_exitcode(os.wait()[1]))
        case "source":
            print(__loader__.get_source("__main__") == inspect.getsource(sys.modules["__main__"]))
        case "warn":
            warnings.warn("careful", stacklevel=1)
            warnings.warn("careful with the caller", stacklevel=2)
