"""The embedded store as a process: `python -m afterturn.consumers.dev.store --data-dir DIR [--port PORT]`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from afterturn.consumers.dev.store.app import App
from afterturn.consumers.dev.store.catalog import Catalog
from afterturn.consumers.dev.store.errors import FolderTaken

KEEP_ALIVE_S = 30  # well above the client's, so that the client is the one that closes an idle connection


def parse_args(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m afterturn.consumers.dev.store", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the data; one process at a time")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 picks a free one [%(default)s]")
    parser.add_argument("--flush-every", type=float, default=5.0, metavar="SECONDS", help="[%(default)s]")
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    return parser.parse_args(argv)


def _config(catalog: Catalog, log_level: str) -> uvicorn.Config:
    return uvicorn.Config(
        App(catalog),
        http="httptools",
        ws="none",
        lifespan="off",
        log_level=log_level,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=5,
        server_header=False,
    )


async def flush_regularly(catalog: Catalog, seconds: float) -> None:
    """Flush in the one thread that also writes: between two calls, never beside one.

    What is acknowledged is in the log already; a flush only shortens what the next start replays.
    """
    while True:
        await asyncio.sleep(seconds)
        catalog.flush()


async def serve(server: uvicorn.Server, listener: socket.socket, flushing: Coroutine[Any, Any, None]) -> None:
    """Answer until SIGTERM or SIGINT, or until the flushing fails."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
    host, port, *_ = listener.getsockname()
    print(f"ready http://{host}:{port}", flush=True)  # who connects from now on waits in the listener's queue at most
    flusher = asyncio.create_task(flushing)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    done, _ = await asyncio.wait((flusher, serving), return_when=asyncio.FIRST_COMPLETED)
    if flusher in done:  # only ever by a fault
        server.should_exit = True
        await serving
    flusher.cancel()
    for task in done:
        task.result()


class _Server(uvicorn.Server):
    """Leaves signals to `serve`: uvicorn would raise them again at its end, before anything is closed."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def main(argv: list[str] | None = None) -> int:
    """Run the process; 1 where the folder or the address is taken."""
    args = parse_args(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=args.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    try:
        catalog = Catalog(args.data_dir)
    except FolderTaken as taken:
        print(taken, file=sys.stderr)
        return 1
    try:
        listener = socket.create_server((args.host, args.port), backlog=512)
    except OSError as error:
        print(f"cannot listen on {args.host}:{args.port}: {error.strerror}", file=sys.stderr)
        catalog.close()
        return 1
    config = _config(catalog, args.log_level)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(serve(_Server(config), listener, flush_regularly(catalog, args.flush_every)))
    finally:
        catalog.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
