"""Start a launcher in this instance; the arguments are a program and its arguments."""

from interlock.backends.xeon import run_cpu
from signals_setup import *

sys.exit(run_cpu.main(["--ninstances", "1", sys.argv[2], sys.argv[1], *sys.argv[3:]]))
