"""Report the name of the signal that ends this instance."""

from signals_setup import *


def end(number, frame):
    say(signal.Signals(number).name)
    sys.exit(0)


signal.signal(getattr(signal, sys.argv[2]), end)
say("ready")
run_handlers()
