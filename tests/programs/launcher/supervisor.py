"""Launchers, and instances that a launcher starts."""

import os
import signal
import sys
import time

from interlock._launcher import args, plan as _plan, supervisor, topology as _topology
from interlock._launcher.discovery import Discovered
from interlock.backends.xeon import run_cpu


def children_of_a_successful_instance_keep_running(command, path):
    """Launch two instances of the command, which write the number of a process that is left into the path."""
    code = run_cpu.main(["--use-logical-core", "--ninstances", "2", *command])
    # The launcher is its new parent, so this process can wait for it.
    left = int(open(path).read())
    result = [code, os.waitpid(left, os.WNOHANG)]
    os.kill(left, signal.SIGKILL)
    return result


def existing_log_is_kept_and_the_new_one_numbered(logs, script):
    time.strftime = lambda form: "now"
    arguments = ["--ninstances", "1", "--log-path", logs]
    for word in ("first", "second", "third"):
        run_cpu.main([*arguments, script, word])


def fail_after_an_instance_left_a_process(folder):
    """Leave a process in the instance that creates the folder; fail in the other once the first is reaped."""
    import subprocess

    try:
        os.mkdir(os.path.join(folder, "taken"))
    except FileExistsError:
        first = int(open(os.path.join(folder, "fifo")).read())
        try:
            while True:
                os.kill(first, 0)
                os.sched_yield()
        except ProcessLookupError:
            sys.exit(5)
    left = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    open(os.path.join(folder, "left"), "w").write(str(left.pid))
    open(os.path.join(folder, "fifo"), "w").write(str(os.getpid()))


def fail_beside_an_instance_that_waits(folder):
    """Wait for SIGTERM in the instance that creates the folder; fail in the other when the first waits."""
    try:
        os.mkdir(os.path.join(folder, "taken"))
    except FileExistsError:
        open(os.path.join(folder, "fifo")).read()
        sys.exit(9)

    def end(number, frame):
        open(os.path.join(folder, "ended"), "w").close()
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    open(os.path.join(folder, "fifo"), "w").close()
    while True:
        # `signal.pause` would miss a signal that arrives just before it.
        time.sleep(0.02)


def launch_on_a_machine(root, prefix, arguments):
    """Start the launcher with the kernel files of a machine from a folder; `prefix` replaces `sys.prefix`."""
    from pathlib import Path

    if prefix is not None:
        sys.prefix = prefix
    raise SystemExit(run_cpu.main(arguments, root=Path(root)))


def run_a_plan_with_a_failing_start(change):
    """Run a plan of two instances; the arguments change the second so that it cannot be started."""
    import dataclasses
    from pathlib import Path

    before = os.sched_getaffinity(0)
    core = min(before)
    topology = _topology.read(Path("/"), {core})
    options = args.parse(["--no-python", sys.executable, "-c", "import signal; signal.pause()"])
    plan = _plan.make(topology, options, {}, Discovered(), python="", stamp="")
    (first,) = plan.instances
    second = dataclasses.replace(first, index=1, **change)
    plan = dataclasses.replace(plan, instances=(first, second))
    code = supervisor.run(plan, dict(os.environ))
    try:
        os.waitpid(-1, os.WNOHANG)
        left = True
    except ChildProcessError:
        left = False
    return [code, left, os.sched_getaffinity(0) == before]


def wait_until_orphans_are_reaped():
    """Leave orphans to the launcher and wait until they are reaped; print their number."""
    reading, writing = os.pipe()
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writing, b"%d " % os.getpid())
            os._exit(0)
        os.wait()
    os.close(writing)
    orphans = [int(number) for number in open(reading).read().split()]
    while any(os.path.exists(f"/proc/{number}") for number in orphans):
        os.sched_yield()
    print(len(orphans))
