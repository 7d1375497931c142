"""Measures the client against the fake server in another process: keys a second.

PYTHONPATH=build/python python3 tests/python/bench.py [KEYS]
"""

import asyncio
import pathlib
import subprocess
import sys
import tempfile
import time

import wq
import wq.aio

FAKE = pathlib.Path(__file__).with_name("fake.py")


class Countdown:
    """Stops a client after so many keys; the handler's threads share it without a lock."""

    def __init__(self, keys, stop):
        self._left = iter(range(keys - 1))
        self._stop = stop

    def one(self):
        """One key is done."""
        if next(self._left, None) is None:
            self._stop()


def add(store, keys):
    """Client.add of 1000 keys at a time."""
    with wq.Client(store) as client:
        for first in range(0, keys, 1000):
            client.add("other", [b"%d" % n for n in range(first, first + 1000)], create=True)


def threads(store, keys, **options):
    """Client.run."""
    with wq.Client(store) as client:
        left = Countdown(keys, client.stop)
        client.worker("pods", **options)(lambda job: left.one())
        client.run()


def tasks(store, keys, **options):
    """wq.aio.Client.run."""

    async def main():
        async with wq.aio.Client(store) as client:
            left = Countdown(keys, client.stop)

            @client.worker("pods", **options)
            async def handle(job):
                left.one()

            await client.run()

    asyncio.run(main())


def measure(keys, body, **options):
    """Prints one line."""
    with tempfile.TemporaryDirectory() as store:
        server = subprocess.Popen(
            [sys.executable, FAKE, store, str(keys)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        server.stdout.readline()
        start = time.monotonic()
        body(store, keys, **options)
        rate = keys / (time.monotonic() - start)
        server.communicate()
        print(f"{body.__name__:10} {rate:10.0f}/s  {options or ''}", flush=True)


def main():
    """Measures all."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    measure(10 * keys, add)
    measure(keys // 5, threads)
    measure(keys, threads, concurrency=8)
    measure(keys, threads, concurrency=8, prefetch=64)
    measure(keys // 5, tasks)
    measure(keys, tasks, concurrency=200)


if __name__ == "__main__":
    main()
