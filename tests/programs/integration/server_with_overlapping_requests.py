"""Serve the application of an example on a listening socket, until SIGTERM.

`FILE DESCRIPTOR REQUESTS IS_ISOLATED`: each request waits until `REQUESTS` of them have set their flags.
Without `IS_ISOLATED` the tasks of the server share one state.
"""

import asyncio
import importlib.util
import json
import socket
import sys

import uvicorn

(file, descriptor, requests, is_isolated) = map(json.loads, sys.argv[1:])

spec = importlib.util.spec_from_file_location("server", file)
server = importlib.util.module_from_spec(spec)
spec.loader.exec_module(server)

if not is_isolated:
    server.aio.task_factory = lambda: None
everyone = asyncio.Barrier(requests)


async def work():
    await everyone.wait()
    # The requests continue in another order than that of their arrival.
    await asyncio.sleep(0)


server.work = work
with socket.socket(fileno=descriptor) as listening:
    config = uvicorn.Config(server.app, log_level="warning", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])
