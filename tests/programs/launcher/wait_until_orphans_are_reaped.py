"""Leave orphans to the launcher and wait until they are reaped; print their number."""

import os

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
