"""A server with the application of an example, and its clients."""

import asyncio
import json
import socket
import sys


def request_concurrently(file, requests):
    """Send concurrent requests to the server of an example, and print the answers as JSON."""
    import resource
    import subprocess

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
        command = [sys.executable, *sys.argv[:2], "serve", *map(json.dumps, arguments)]
        with subprocess.Popen(command, pass_fds=[listening.fileno()]) as server:
            try:
                answers = asyncio.run(main(listening.getsockname()))
            finally:
                server.terminate()
    print(json.dumps(answers))


def serve(file, descriptor, requests):
    """Serve the application of an example on a listening socket, until SIGTERM.

    Each request waits until `requests` of them have set their flags.
    """
    import importlib.util

    import uvicorn

    spec = importlib.util.spec_from_file_location("server", file)
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)

    everyone = asyncio.Barrier(requests)

    async def work():
        await everyone.wait()
        # The requests continue in another order than they arrived in.
        await asyncio.sleep(0)

    server.work = work
    with socket.socket(fileno=descriptor) as listening:
        config = uvicorn.Config(server.app, log_level="warning", lifespan="on")
        uvicorn.Server(config).run(sockets=[listening])
