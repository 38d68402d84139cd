"""Ignore the first SIGINT and end at the second."""

from signals_setup import *


def end(number, frame):
    say("second")
    sys.exit(3)


def ignore(number, frame):
    signal.signal(signal.SIGINT, end)
    say("first")


signal.signal(signal.SIGINT, ignore)
say("ready")
run_handlers()
