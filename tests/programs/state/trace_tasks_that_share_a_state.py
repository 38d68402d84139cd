from trace_setup import *


async def first():
    with no_grad():  # entered
        await asyncio.sleep(0)


async def second():
    with enable_grad():  # entered by the other
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(first(), second())


asyncio.run(main())

print_warnings()
