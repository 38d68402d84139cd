"""Suites of tests that `tools/pythons.py` runs."""

import sys


def watch_a_silent_suite(tools):
    import subprocess
    import tempfile
    from pathlib import Path

    sys.path.insert(0, tools)
    import pythons

    pythons.SECONDS_OF_SILENCE = 0.0
    with tempfile.NamedTemporaryFile() as log:
        sleeping = [sys.executable, "-c", "import signal; signal.pause()"]
        process = subprocess.Popen(sleeping, start_new_session=True)
        return [pythons.watch(process, Path(log.name)), process.returncode]
