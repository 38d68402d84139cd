from trace_setup import *


def with_statement():
    with no_grad(), backends.cudnn.flags(), interlock.capture().apply():
        interlock.capture()


def decorated_generator():
    @no_grad()
    def numbers():
        yield 1

    for _ in numbers():
        interlock.is_grad_enabled()


def context_manager():
    @contextlib.contextmanager
    def quiet():
        with no_grad():
            yield

    with quiet():
        interlock.is_grad_enabled()


def exit_stack():
    with contextlib.ExitStack() as stack:
        stack.enter_context(no_grad())
        interlock.capture()


def one_task():
    async def work():
        with no_grad():
            await asyncio.sleep(0)

    asyncio.run(work())


def function():
    interlock.set_grad_enabled(False)
    interlock.set_grad_enabled(True)


(name,) = map(json.loads, sys.argv[1:])
globals()[name]()

print_warnings()
