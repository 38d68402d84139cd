import json
import os

from interlock.accelerator import memory

memory.set_config("max_split_size_mb:64")
reading, writing = os.pipe()
if os.fork() == 0:
    inherited = str(memory.get_config())
    memory.set_config("max_split_size_mb:32")
    os.write(writing, f"{inherited} {memory.get_config()}".encode())
    os._exit(0)
os.wait()
result = [os.read(reading, 200).decode(), str(memory.get_config())]

print("\n" + json.dumps(result))
