"""Many threads override one setting with equal and unequal values; prints what each saw."""

import json
import random
import sys
import threading
import time

from interlock import settings
from interlock.errors import SettingConflictError

THREADS, ROUNDS = 32, 60
VALUES, ON_CONFLICT = json.loads(sys.argv[1]), json.loads(sys.argv[2])
config = {"level": 0}
settings.register(
    settings.Setting("mylib.level", get=lambda: config["level"], set=lambda value: config.update(level=value))
)
wrong, entered, refused, failed = [], [0] * THREADS, [0] * THREADS, [0] * THREADS
start = threading.Barrier(THREADS)


def work(index):
    choose = random.Random(index)
    start.wait()
    for _ in range(ROUNDS):
        value = choose.choice(VALUES)
        options = {"timeout": 60} if ON_CONFLICT == "wait" else {}
        try:
            with settings.override({"mylib.level": value}, on_conflict=ON_CONFLICT, **options):
                entered[index] += 1
                for _ in range(3):
                    if config["level"] != value:
                        wrong.append([value, config["level"]])
                    time.sleep(0)
                with settings.override({"mylib.level": value}):
                    if config["level"] != value:
                        wrong.append([value, config["level"]])
                if choose.random() < 0.2:
                    raise KeyError
        except KeyError:
            failed[index] += 1
        except SettingConflictError:
            refused[index] += 1


threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(
    json.dumps(
        {
            "wrong": wrong,
            "entered": sum(entered),
            "refused": sum(refused),
            "failed": sum(failed),
            "rounds": THREADS * ROUNDS,
            "level": config["level"],
            "held": settings.explain("mylib.level").held_by,
        }
    )
)
