"""Serve the application of an example on a listening socket, until SIGTERM.

`FILE DESCRIPTOR REQUESTS`: each request waits until `REQUESTS` of them have set their flags.
"""

import asyncio
import importlib.util
import json
import socket
import sys

import uvicorn

(file, descriptor, requests) = map(json.loads, sys.argv[1:])

spec = importlib.util.spec_from_file_location("server", file)
server = importlib.util.module_from_spec(spec)
spec.loader.exec_module(server)

everyone = asyncio.Barrier(requests)


async def work():
    await everyone.wait()
    # The requests continue in another order than that of their arrival.
    await asyncio.sleep(0)


server.work = work
with socket.socket(fileno=descriptor) as listening:
    config = uvicorn.Config(server.app, log_level="warning", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])
