from trace_setup import *


async def first():
    with no_grad():
        await asyncio.sleep(0)


async def main():
    with enable_grad():
        await asyncio.gather(first(), first())


asyncio.run(main())

print_warnings()
