"""Hooks, backward passes and threads."""

import gc
import os
import signal
import threading
import time
import warnings
import weakref

import interlock
from interlock import accelerator, autograd, backends


def change_a_view_made_without_grad():
    base = interlock.ones(10_000, requires_grad=True) * 1
    with interlock.no_grad():
        view = base[:2]  # made
    try:
        view.mul_(2)
    except RuntimeError as error:
        print(error)


def hook_of_a_detached_result_is_collected():
    """Returns whether a hook that owns a result is collected after the result was detached in place."""

    class Hook:
        def __call__(self, grad):
            return None

    x = interlock.ones(1, requires_grad=True)
    y = x * 2
    z = y * 3
    hook = Hook()
    hook.owner = y
    reference = weakref.ref(hook)
    y.register_hook(hook)
    y.detach_().requires_grad_()
    del hook, y
    gc.collect()
    (z * 1).backward()
    del z
    gc.collect()
    return reference() is None


def fork_while_a_thread_copies_saved_tensors():
    """Returns the exit code of a child that changes a saved tensor; its signal if it waits forever."""
    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
    begun, ended = threading.Event(), threading.Event()

    def copy(saved):
        with saved._lock:
            begun.set()
            ended.wait(90)

    with autograd.graph.allow_mutation_on_saved_tensors() as saved:
        x = interlock.ones(2, requires_grad=True)
        y = x.clone()
        z = (y * y).sum()
        thread = threading.Thread(target=copy, args=(saved,))
        thread.start()
        begun.wait(30)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            y.mul_(3)
            z.backward()
            os._exit(0 if x.grad.tolist() == [2.0, 2.0] else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ended.set()
        thread.join()
    return code


def interrupt_between_small_nodes():
    """Returns the gradient of a leaf after a signal has interrupted a pass over many small nodes."""
    leaf = y = interlock.ones(1, requires_grad=True)
    for _ in range(100_000):
        y = y * 1.0
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    try:
        y.backward()
    except KeyboardInterrupt:
        return str(leaf.grad)
    return "completed"


def memory_of_a_dropped_hook():
    """Memory that only the hook of a dropped tensor owns is free for the next buffer."""
    accelerator.use("host", memory=64 << 20)

    def drop():
        leaf = interlock.ones(3, requires_grad=True)
        held = interlock.ones(10 << 20, device="host:0")
        leaf.register_hook(lambda grad, held=held: None)

    drop()
    accelerator.memory.Buffer(40 << 20)
    print("ok")


def objects_dropped_while_detached():
    """A garbage collection releases objects that a detached thread has dropped."""
    accelerator.use("host")

    class Held:
        pass

    stream = accelerator.Stream()
    begun, opened = threading.Event(), threading.Event()

    def launch(held):
        accelerator.launch(stream, lambda: (begun.set(), opened.wait(30)) and None)
        # The stream owns the arguments until it has called the function.
        accelerator.launch(stream, lambda held: None, held)

    held = Held()
    reference = weakref.ref(held)
    launch(held)
    del held
    begun.wait(30)
    gc.collect()
    assert reference() is not None
    opened.set()
    while not stream.query():
        pass
    gc.collect()
    assert reference() is None
    print("ok")


def passes_on_small_stacks():
    """Backward passes inside of each other do not overflow small stacks."""
    DEPTH = 200
    done = []

    def begin_pass(depth):
        with interlock.enable_grad():
            x = interlock.ones(1, requires_grad=True)
            y = x * 2
            if depth > 1:
                y.register_hook(lambda gradient: begin_pass(depth - 1))
            y.backward()
            done.append((depth, x.grad.item()))

    # glibc refuses less than 128 KiB on ARM.
    smallest = max(96, os.sysconf("SC_THREAD_STACK_MIN") // 1024)
    for kibibytes in (smallest, 256, 1024):
        threading.stack_size(kibibytes * 1024)
        thread = threading.Thread(target=begin_pass, args=(DEPTH,))
        thread.start()
        thread.join()
        assert done == [(depth, 2.0) for depth in range(1, DEPTH + 1)], (kibibytes, len(done))
        done.clear()
    print("ok")


def pytorch_issues_inheritance():
    import contextvars

    def look():
        return [interlock.is_grad_enabled(), interlock.is_inference_mode_enabled(), backends.cudnn.enabled]

    def on_a_thread(function):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(function()))
        thread.start()
        thread.join()
        return seen[0]

    def write():
        interlock.set_grad_enabled(True)
        backends.cudnn.enabled = True
        return look()

    backends.cudnn.benchmark = True
    result = []
    with interlock.no_grad(), interlock.inference_mode(), backends.cudnn.flags(enabled=False):
        copied = contextvars.copy_context()
        result += [look(), on_a_thread(look), on_a_thread(lambda: copied.run(look)), copied.run(look)]
        result += [copied.run(write), look()]
    result += [look(), copied.run(look), on_a_thread(lambda: copied.run(look)), backends.cudnn.benchmark]
    return result


def pytorch_issues_threads_of_a_backward_pass():
    import subprocess

    def threads():
        if os.path.isdir("/proc/self/task"):
            return sorted(os.listdir("/proc/self/task"))
        listed = subprocess.run(["ps", "-M", str(os.getpid())], capture_output=True, text=True, check=True)
        return len(listed.stdout.splitlines())

    def differentiate():
        weight = interlock.ones(64, 64, requires_grad=True)
        total = sum(((weight @ weight).relu() * number).sum() for number in range(20))
        before = threads()
        total.backward()
        result.append(threads() == before)

    result = []
    with interlock.set_multithreading_enabled(False):
        differentiate()
    differentiate()
    other = threading.Thread(target=differentiate)
    other.start()
    other.join()
    result.append(threading.active_count())
    return result


def cycle_while_a_thread_waits(waiting):
    """Return whether a cycle through a hook is collected while another thread waits for a stream."""
    stream, opened = interlock.Stream(), threading.Event()
    interlock.accelerator.launch(stream, opened.wait)
    if waiting == "synchronize":
        threading.Thread(target=stream.synchronize).start()
    else:
        opened.set()
        stream.synchronize()

    class Owner:
        pass

    owner, leaf = Owner(), interlock.ones(1, requires_grad=True)
    owner.leaf = leaf
    leaf.register_hook(lambda gradient, owner=owner: None)
    observed = weakref.ref(owner)
    del owner, leaf
    # The thread may not have begun to wait.
    deadline = time.monotonic() + 10
    while observed() is not None and time.monotonic() < deadline:
        gc.collect()
    opened.set()
    return observed() is None
