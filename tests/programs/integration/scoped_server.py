"""Servers of FastAPI and Starlette, whose requests enter scopes in middleware, dependencies and routes."""

import asyncio
import contextlib
import contextvars
import gc
import itertools
import json
import resource
import socket

import interlock
import uvicorn
from interlock import backends

FLAG = "cudnn.benchmark_limit"
# What a plain variable of the context gives in the same place: what interlock must give.
variable = contextvars.ContextVar("variable", default=0)
# Places of scopes, and kinds of routes.
PLACES = {
    "fastapi": ("none", "middleware", "def", "async", "route"),
    "starlette": ("none", "middleware", "route"),
}
KINDS = ("def", "async")
SECONDS_TO_WAIT = 0.002


def scope(number):
    """Return a scope of a flag and a mode for a request."""
    stack = contextlib.ExitStack()
    stack.enter_context(backends.override({FLAG: number}))
    stack.enter_context(interlock.set_grad_enabled(number % 2 == 0))
    return stack


def seen():
    """Return the state as a request sees it, and the variable beside it."""
    return [backends.cudnn.benchmark_limit, int(interlock.is_grad_enabled()), variable.get()]


class Middleware:
    """Enters a scope around the requests whose path says so."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, asgi_scope, receive, send):
        parts = asgi_scope.get("path", "").split("/")
        if parts[1:2] != ["middleware"]:
            return await self.app(asgi_scope, receive, send)
        number = int(parts[3])
        variable.set(number)
        with scope(number):
            await self.app(asgi_scope, receive, send)


def scope_of_route(place, number):
    """Enter the scope of a route, or none."""
    if place != "route":
        return contextlib.nullcontext()
    variable.set(number)
    return scope(number)


def fastapi_app():
    import fastapi

    app = fastapi.FastAPI()

    def dependency(number: int):
        variable.set(number)
        with scope(number):
            yield

    async def async_dependency(number: int):
        variable.set(number)
        with scope(number):
            await asyncio.sleep(0)
            yield

    def add(place, needed):
        def route(number: int):
            with scope_of_route(place, number):
                return seen()

        async def async_route(number: int):
            with scope_of_route(place, number):
                await asyncio.sleep(SECONDS_TO_WAIT)
                return seen()

        for kind, function in (("def", route), ("async", async_route)):
            depends = [fastapi.Depends(needed)] if needed else []
            app.get(f"/{place}/{kind}/{{number}}", dependencies=depends)(function)

    for place in PLACES["fastapi"]:
        add(place, {"def": dependency, "async": async_dependency}.get(place))
    app.add_middleware(Middleware)
    return app


def starlette_app():
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def add(place):
        def route(request):
            with scope_of_route(place, request.path_params["number"]):
                return JSONResponse(seen())

        async def async_route(request):
            with scope_of_route(place, request.path_params["number"]):
                await asyncio.sleep(SECONDS_TO_WAIT)
                return JSONResponse(seen())

        return [
            Route(f"/{place}/def/{{number:int}}", route),
            Route(f"/{place}/async/{{number:int}}", async_route),
        ]

    app = Starlette(routes=[route for place in PLACES["starlette"] for route in add(place)])
    app.add_middleware(Middleware)
    return app


def resident_bytes():
    """Return the memory of this process."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def serve_and_ask(framework, loop, requests):
    """Send rounds of concurrent requests to a server; return the wrong answers and the growth of memory.

    Server and clients share a loop, so that tasks of both alternate.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * requests + 200
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    connecting = asyncio.Semaphore(64)

    async def ask(address, place, kind, number):
        async with connecting:
            reader, writer = await asyncio.open_connection(*address)
        writer.write(
            f"GET /{place}/{kind}/{number} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 200 "), head
        return place, kind, number, json.loads(body)

    async def round_of(address, places):
        combinations = itertools.cycle(itertools.product(places, KINDS))
        asked = [ask(address, *next(combinations), number) for number in range(1, requests + 1)]
        return await asyncio.gather(*asked)

    async def main():
        app = {"fastapi": fastapi_app, "starlette": starlette_app}[framework]()
        with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
            server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            address = listening.getsockname()
            answers = await round_of(address, PLACES[framework])
            before = resident_bytes()
            answers += await round_of(address, PLACES[framework])
            growth = resident_bytes() - before
            answers += await round_of(address, ("none",))
            server.should_exit = True
            await serving
        return answers, growth, type(asyncio.get_running_loop()).__module__

    if loop == "uvloop":
        import uvloop

        answers, growth, module = uvloop.run(main())
    else:
        answers, growth, module = asyncio.run(main())
    default = seen()
    wrong = []
    reached = {}
    for place, kind, number, (limit, grad, plain) in answers:
        expected = default[:2] if plain == 0 else [plain, int(plain % 2 == 0)]
        if [limit, grad] != expected or plain not in (0, number) or (place == "none" and plain):
            wrong.append([place, kind, number, limit, grad, plain])
        reached.setdefault(f"{place} {kind}", set()).add(plain != 0)
    reached = {name: sorted(found) for name, found in reached.items()}
    return {
        "answers": len(answers),
        "wrong": wrong,
        "growth": growth,
        "reached": reached,
        "loop": module.split(".")[0],
    }


async def answers_of(app, paths):
    """Serve an application to concurrent requests; return the distinct answers for each path."""

    async def ask(address, path):
        reader, writer = await asyncio.open_connection(*address)
        # Version 1.0, so that a streamed body is not sent in chunks with their sizes.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return path, json.dumps([head.split()[1].decode(), json.loads(body)])

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        found = {}
        for path, answer in await asyncio.gather(*[ask(listening.getsockname(), path) for path in paths]):
            found.setdefault(path, set()).add(answer)
        server.should_exit = True
        await serving
    return {path: sorted(map(json.loads, answers)) for path, answers in found.items()}


def ask_an_example(file, loop, requests, paths):
    """Serve the application of an example; return the distinct answers of requests for each path."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("example", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    asking = answers_of(example.app, [paths[number % len(paths)] for number in range(requests)])
    if loop == "uvloop":
        import uvloop

        return uvloop.run(asking)
    return asyncio.run(asking)


def ask_after_the_route(requests):
    """Ask for bodies that are streamed in the scope of a dependency; return what streams and tasks saw."""
    import fastapi
    from fastapi.responses import StreamingResponse

    app = fastapi.FastAPI()
    after = []

    async def dependency(number: int):
        with scope(number):
            yield

    async def note(number):
        after.append([number, *seen()[:2]])

    @app.get("/{number}", dependencies=[fastapi.Depends(dependency)])
    async def stream(number: int, tasks: fastapi.BackgroundTasks):
        async def body():
            await asyncio.sleep(SECONDS_TO_WAIT)
            yield json.dumps(seen()[:2])

        tasks.add_task(note, number)
        return StreamingResponse(body())

    streamed = asyncio.run(answers_of(app, [f"/{number}" for number in range(1, requests + 1)]))
    return [{path[1:]: answers for path, answers in streamed.items()}, sorted(after)]


ITEMS = 3


def listed(items):
    """Yield a list of JSON in one part for each item."""
    for index, item in enumerate(items):
        yield ("," if index else "[") + json.dumps(item)
    yield "]"


def items_of_a_generator():
    """Yield the state as each step sees it."""
    yield from listed(seen()[:2] for _ in range(ITEMS))


async def items_of_an_async_generator():
    for part in items_of_a_generator():
        await asyncio.sleep(SECONDS_TO_WAIT)
        yield part


def within(number, generator):
    """Return a generator with a scope around its body, in a `with` block there."""

    def generate():
        with scope(number):
            yield from generator()

    async def generate_async():
        with scope(number):
            async for part in generator():
                yield part

    return generate if generator is items_of_a_generator else generate_async


def ask_for_streams(number):
    """Return what each step of streams sees whose scope is at different places."""
    import fastapi
    from fastapi.responses import StreamingResponse

    app = fastapi.FastAPI()
    kinds = {"def": items_of_a_generator, "async": items_of_an_async_generator}

    async def dependency():
        with scope(number):
            yield

    @app.get("/around/{kind}")
    async def around(kind: str):
        with scope(number):
            return StreamingResponse(kinds[kind]())

    @app.get("/inside/{kind}")
    async def inside(kind: str):
        return StreamingResponse(within(number, kinds[kind])())

    @app.get("/decorated/{kind}")
    async def decorated(kind: str):
        mode = interlock.set_grad_enabled(number % 2 == 0)
        return StreamingResponse(mode(backends.override({FLAG: number})(kinds[kind]))())

    @app.get("/wrapped/{kind}")
    async def wrapped(kind: str):
        with scope(number):
            return StreamingResponse(interlock.capture().wrap(kinds[kind])())

    for place, depends in (
        ("dependency", fastapi.Depends(dependency)),
        ("function", fastapi.Depends(dependency, scope="function")),
    ):

        @app.get(f"/{place}/{{kind}}", dependencies=[depends])
        async def route(kind: str):
            assert seen()[0] == number
            return StreamingResponse(kinds[kind]())

    places = ("around", "inside", "decorated", "wrapped", "dependency", "function")
    paths = [f"/{place}/{kind}" for place in places for kind in kinds]
    answers = asyncio.run(answers_of(app, paths))
    return {path[1:]: answer for path, [[_status, answer]] in answers.items()}


def ask_below_middleware(number):
    """Return what routes, streams and background tasks see below each kind of middleware."""
    import fastapi
    from fastapi.responses import StreamingResponse
    from starlette.middleware.base import BaseHTTPMiddleware

    class Dispatch(BaseHTTPMiddleware):
        async def dispatch(self, request, call_next):
            with scope(number):
                return await call_next(request)

    class Plain:
        def __init__(self, app):
            self.app = app

        async def __call__(self, asgi_scope, receive, send):
            with scope(number):
                await self.app(asgi_scope, receive, send)

    def served(kind):
        app = fastapi.FastAPI()
        after = []
        if kind == "function":

            @app.middleware("http")
            async def around(request, call_next):
                with scope(number):
                    return await call_next(request)

        else:
            app.add_middleware({"BaseHTTPMiddleware": Dispatch, "ASGI": Plain}[kind])

        @app.get("/def")
        def route(tasks: fastapi.BackgroundTasks):
            tasks.add_task(lambda: after.append(seen()[:2]))
            return seen()[:2]

        @app.get("/async")
        async def async_route():
            return seen()[:2]

        @app.get("/stream")
        def stream():
            return StreamingResponse(items_of_a_generator())

        answers = asyncio.run(answers_of(app, ["/def", "/async", "/stream"]))
        return [*(answer for [[_status, answer]] in answers.values()), after]

    return {kind: served(kind) for kind in ("ASGI", "BaseHTTPMiddleware", "function")}


def ask_after_start_up(how):
    """Return what a request sees after a lifespan function has set a flag and a mode in one way."""
    import fastapi

    @contextlib.asynccontextmanager
    async def lifespan(app):
        with contextlib.ExitStack() as stack:
            if how == "write":
                backends.cudnn.benchmark_limit = 7
                interlock.set_grad_enabled(False)
            elif how == "scope":
                stack.enter_context(scope(7))
            elif how == "set_process_defaults":
                interlock.state.set_process_defaults(grad_enabled=False)
            yield

    app = fastapi.FastAPI(lifespan=lifespan)

    @app.get("/")
    def route():
        return seen()[:2]

    [[_status, answer]] = asyncio.run(answers_of(app, ["/"]))["/"]
    return answer
