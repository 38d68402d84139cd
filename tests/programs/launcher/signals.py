"""Instances of the launcher that receive signals, and report them through the named pipe `path`."""

import json
import os
import signal
import subprocess
import sys
import time


def say(text):
    os.write(pipe, text.encode() + b"\n")


def report_to(path):
    """Open the pipe of `say`."""
    global pipe
    pipe = os.open(path, os.O_WRONLY)


def exit_on(number, word, status=0):
    """Report a word and exit with a status when a signal arrives."""

    def end(number, frame):
        say(word)
        sys.exit(status)

    signal.signal(number, end)


def run_handlers():
    """Run the handlers of signals until one exits.

    `signal.pause` does not return for a signal that arrives just before it, and its handler would not run.
    """
    while True:
        time.sleep(0.02)


def drive(grace, path, signals, function, *arguments):
    """Start a launcher of a function of this file and send it signals.

    Each signal is sent after a number of lines of the function in the named pipe, and a number of lines of
    the launcher on standard error. The pipe ends when the last process closes it. The function gets the path
    of the pipe and `arguments`.
    """
    code = """
import sys
from interlock.backends.xeon import run_cpu
sys.exit(run_cpu.main(["--ninstances", "1", *sys.argv[2:]], grace=float(sys.argv[1])))
"""
    launcher = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-c",
            code,
            grace,
            *sys.argv[:2],
            function,
            *map(json.dumps, (path, *arguments)),
        ],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines, reported = [], []
    with open(path) as said:
        for number, count, count_reported in signals:
            lines += [said.readline().strip() for _ in range(count)]
            reported += [launcher.stderr.readline().strip() for _ in range(count_reported)]
            launcher.send_signal(number)
        lines += said.read().split()
    reported += launcher.stderr.read().splitlines()
    return [launcher.wait(), lines, reported]


def end_at_the_second(path):
    """Ignore the first SIGINT and end at the second."""
    report_to(path)

    def ignore(number, frame):
        exit_on(signal.SIGINT, "second", 3)
        say("first")

    signal.signal(signal.SIGINT, ignore)
    say("ready")
    run_handlers()


def end_on(path, name):
    """Report the name of the signal that ends this instance."""
    report_to(path)
    exit_on(getattr(signal, name), name)
    say("ready")
    run_handlers()


def ignore(path, name, word):
    """Ignore a signal, report the word and never exit."""
    report_to(path)
    signal.signal(getattr(signal, name), signal.SIG_IGN)
    say(word)
    while True:
        signal.pause()


def launch_another(path, function, *arguments):
    """Start a launcher in this instance; its instance runs another function of this file."""
    from interlock.backends.xeon import run_cpu

    texts = map(json.dumps, (path, *arguments))
    sys.exit(run_cpu.main(["--ninstances", "1", *sys.argv[:2], function, *texts]))


def leave_a_process(path):
    """Fail and leave a process that ignores SIGTERM."""
    report_to(path)
    code = "from signal import *; signal(SIGTERM, SIG_IGN); print(1, flush=True); pause()"
    below = subprocess.Popen([sys.executable, "-c", code], pass_fds=[pipe], stdout=subprocess.PIPE)
    below.stdout.readline()
    os._exit(5)


def start_a_session(path):
    """Start a process in a new session, which reports that it runs, and ignore SIGTERM."""
    report_to(path)
    code = "import os, signal, sys; os.write(int(sys.argv[1]), b'below\\n'); signal.pause()"
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe], start_new_session=True)
    while True:
        signal.pause()


def start_another(path, statement):
    """Start a process that runs the statement and reports that it runs, and never exit."""
    report_to(path)
    code = f"import os, signal, sys; {statement}; os.write(int(sys.argv[1]), b'below\\n'); signal.pause()"
    subprocess.Popen([sys.executable, "-c", code, str(pipe)], pass_fds=[pipe])
    signal.pause()


def stop(path):
    """Stop this instance, as a terminal stops a background process that reads from it; exit on SIGTERM."""
    report_to(path)
    exit_on(signal.SIGTERM, "ended")
    # Another process reports that this one is stopped.
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[0] != "T":
            os.sched_yield()
        say("stopped")
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
    run_handlers()
