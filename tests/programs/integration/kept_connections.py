"""Servers whose later requests of a connection begin in the context of an earlier one."""

import asyncio
import contextvars
import json
import socket

import interlock
import uvicorn
from interlock import backends
from interlock.integrations.asgi import DefaultStateMiddleware

# uvicorn stops reading while more than 64 KiB of a body are unread.
LARGE_BODY = b"x" * 1_000_000
variable = contextvars.ContextVar("variable", default=0)


async def respond(asgi_scope, receive, send):
    """Read the body, and answer with the state at the beginning of the request."""
    seen = [backends.cudnn.benchmark_limit, interlock.is_grad_enabled(), variable.get()]
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        # Longer than the client needs to send the next part.
        await asyncio.sleep(0.001)
    body = json.dumps(seen).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def app(asgi_scope, receive, send):
    """Answer a request; enter scopes around it if its path has a number."""
    if asgi_scope["type"] == "lifespan":
        raise NotImplementedError
    number = int(asgi_scope["path"][1:] or 0)
    if number == 0:
        return await respond(asgi_scope, receive, send)
    variable.set(number)
    interlock.set_grad_enabled(False)
    with backends.override({"cudnn.benchmark_limit": number}):
        await respond(asgi_scope, receive, send)


async def answer(reader):
    """Return the body of the next answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert head.startswith("http/1.1 200 "), head
    length = int(head.partition("content-length:")[2].split()[0])
    return json.loads(await reader.readexactly(length))


async def answers(served, parts, **options):
    """Send parts of one connection, each after the answers to the one before; return all answers.

    A part has one request, or several that are pipelined.
    """
    found = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(served, http="h11", log_level="warning", lifespan="auto", **options)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        for part in parts:
            writer.write(b"".join(part))
            found += [await answer(reader) for _ in part]
        writer.close()
        server.should_exit = True
        await serving
    return found


def request(path, body=b""):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head if body else f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode() + body


def run(loop, main):
    """Run a coroutine on a loop of asyncio or uvloop."""
    if loop == "uvloop":
        import uvloop

        return uvloop.run(main)
    return asyncio.run(main)


def states_of_two_requests(loop, cure, requests):
    """Return the states in which two requests of a connection begin."""
    served = DefaultStateMiddleware(app) if cure == "middleware" else app
    options = {"reset_contextvars": True} if cure == "reset_contextvars" else {}
    parts = {
        "large": [[request("/5", LARGE_BODY)], [request("/")]],
        "pipelined": [[request("/5"), request("/")]],
    }[requests]
    return run(loop, answers(served, parts, **options))


def pipelined_answers_of_an_example(file, loop):
    """Return the answers of an example to pipelined requests, the second to a route without a scope."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("example", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    @example.app.get("/plain")
    async def plain():
        return {"precision": backends.cuda.matmul.fp32_precision}

    return run(loop, answers(example.app, [[request("/predict?precision=tf32"), request("/plain")]]))
