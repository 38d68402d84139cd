import json
import subprocess
import sys
import tempfile
from pathlib import Path

(tools,) = map(json.loads, sys.argv[1:])
sys.path.insert(0, tools)
import pythons

pythons.SECONDS_OF_SILENCE = 0.0
with tempfile.NamedTemporaryFile() as log:
    sleeping = [sys.executable, "-c", "import signal; signal.pause()"]
    process = subprocess.Popen(sleeping, start_new_session=True)
    result = [pythons.watch(process, Path(log.name)), process.returncode]

print("\n" + json.dumps(result))
