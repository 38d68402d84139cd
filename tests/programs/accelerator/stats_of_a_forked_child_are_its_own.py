import json

from pinned_setup import *

buffer = memory.Buffer(1000)
read, write = os.pipe()
if os.fork() == 0:
    query_all()
    os.write(write, str(sum(memory.host_memory_stats().values())).encode())
    os._exit(0)
os.close(write)
result = [os.wait()[1], os.read(read, 10).decode()]

print("\n" + json.dumps(result))
