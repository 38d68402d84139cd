from threading import Thread

from library_search_setup import *

running = True


def change():
    while running:
        for number in range(200):
            os.environ[f"OF_A_TEST_{number}"] = "x" * number
        for number in range(200):
            del os.environ[f"OF_A_TEST_{number}"]


thread = Thread(target=change)
thread.start()
sources = {libraries.find("cudnn").source for _ in range(2000)}
running = False
thread.join()
result = list(sources)

print("\n" + json.dumps(result))
