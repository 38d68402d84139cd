"""Send concurrent requests to the server of an example, and print the answers as JSON.

`FILE REQUESTS`, as for `server_with_overlapping_requests.py`.
"""

import asyncio
import json
import pathlib
import resource
import socket
import subprocess
import sys

(file, requests) = map(json.loads, sys.argv[1:])

SERVER = pathlib.Path(__file__).with_name("server_with_overlapping_requests.py")
# The client and the server each have one descriptor for each request, and some others.
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
wanted = requests + 100
if soft != resource.RLIM_INFINITY and soft < wanted:
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
# Fewer than the shortest queue of connections that a system has by default.
connecting = asyncio.Semaphore(64)


async def ask(address, number):
    """Return the request and the answer of the server."""
    sent = {"benchmark_limit": number, "grad": number % 2}
    query = "&".join(f"{name}={value}" for name, value in sent.items())
    async with connecting:
        reader, writer = await asyncio.open_connection(*address)
    writer.write(f"GET /?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 200 "), head
    return sent, json.loads(body)


async def main(address):
    return await asyncio.gather(*(ask(address, number) for number in range(requests)))


with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
    arguments = [file, listening.fileno(), requests]
    command = [sys.executable, str(SERVER), *map(json.dumps, arguments)]
    with subprocess.Popen(command, pass_fds=[listening.fileno()]) as server:
        try:
            answers = asyncio.run(main(listening.getsockname()))
        finally:
            server.terminate()
print(json.dumps(answers))
