"""Ignore a signal and never exit; the arguments are its name and the word to report first."""

from signals_setup import *

signal.signal(getattr(signal, sys.argv[2]), signal.SIG_IGN)
say(sys.argv[3])
while True:
    signal.pause()
