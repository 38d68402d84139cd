"""Tasks on several event loops override one setting and are cancelled at random; prints what each saw."""

import asyncio
import contextvars
import json
import random
import threading

from interlock import settings

LOOPS, TASKS = 4, 50
config = {"level": 0}
settings.register(
    settings.Setting("mylib.level", get=lambda: config["level"], set=lambda value: config.update(level=value))
)
wrong, entered, cancelled = [], [], []


async def hold(value):
    async with settings.override({"mylib.level": value}, on_conflict="wait", timeout=60):
        entered.append(value)
        for _ in range(3):
            if config["level"] != value:
                wrong.append([value, config["level"]])
            await asyncio.sleep(0.0005)


async def main(seed):
    choose = random.Random(seed)
    tasks = [
        asyncio.create_task(hold(choose.randint(1, 5)), context=contextvars.copy_context())
        for _ in range(TASKS)
    ]
    await asyncio.sleep(0)
    # All but the first wait, or have joined it.
    tasks[-1].cancel()
    while pending := [task for task in tasks if not task.done()]:
        if choose.random() < 0.3:
            choose.choice(pending).cancel()
        await asyncio.sleep(0.002)
    for task in tasks:
        if task.cancelled():
            cancelled.append(seed)
        elif task.exception() is not None:
            raise task.exception()


threads = [threading.Thread(target=lambda seed=seed: asyncio.run(main(seed))) for seed in range(LOOPS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(
    json.dumps(
        {
            "wrong": wrong,
            "entered": len(entered),
            "cancelled": len(cancelled),
            "level": config["level"],
            "held": settings.explain("mylib.level").held_by,
        }
    )
)
