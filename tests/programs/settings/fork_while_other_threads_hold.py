"""Forks while another thread holds a setting and while the lock is taken; prints what the child reads."""

import json
import os
import threading

from interlock import settings

config = {"level": 0, "other": 0}
settings.register(
    *(
        settings.Setting(
            f"mylib.{name}",
            get=lambda name=name: config[name],
            set=lambda value, name=name: config.update({name: value}),
        )
        for name in config
    )
)
held, done, stop = threading.Event(), threading.Event(), threading.Event()


def hold():
    with settings.override({"mylib.level": 1}):
        held.set()
        done.wait(60)


def keep_busy():
    while not stop.is_set():
        settings.writes()


threads = [threading.Thread(target=hold), threading.Thread(target=keep_busy)]
for thread in threads:
    thread.start()
held.wait(60)
results = []
with settings.override({"mylib.other": 5}):
    for _ in range(20):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            found = [config["level"], config["other"], settings.explain("mylib.level").held_by]
            with settings.override({"mylib.level": 2}):
                found.append(config["level"])
            os.write(write, json.dumps(found).encode())
            os._exit(0)
        os.waitpid(child, 0)
        results.append(json.loads(os.read(read, 4096)))
        os.close(read), os.close(write)
parent = config["level"]
done.set(), stop.set()
for thread in threads:
    thread.join()
print(json.dumps([results, parent, config["level"]]))
