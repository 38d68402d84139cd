from threading import Barrier, Thread

from library_search_setup import *

paths = map(json.loads, sys.argv[1:])

barrier, outcomes = Barrier(2), []


def load(path):
    barrier.wait()
    outcomes.append(refused(libraries.load, "cudnn", path))


threads = [Thread(target=load, args=(path,)) for path in paths]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(outcome is None for outcome in outcomes), libraries.find("cudnn").version, flush=True)
os._exit(0)  # At a normal exit the loader would call every destructor.
