#!/usr/bin/python3
"""Checks every minute whether servers accept connections; each key is HOST:PORT.

    aio_worker.py STORE [HOST:PORT…]

The schedule is the queue's: it survives a restart, and several workers share it.
"""

import asyncio
import sys

import wq
import wq.aio

QUEUE = "probe"


async def main(store, servers):
    """Runs until SIGTERM or SIGINT."""
    async with wq.aio.Client(store) as client:
        await client.add(QUEUE, servers, durability="process", create=True)

        @client.worker(QUEUE, concurrency=100, key_limit=30)
        async def probe(job):
            host, colon, port = job.text.rpartition(":")
            if not colon or not port.isdecimal():
                raise wq.Quarantine("not HOST:PORT")
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 10)
            writer.close()
            print(f"{job.text} accepts connections", flush=True)
            return wq.RequeueAfter(60)

        await client.run()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: aio_worker.py STORE [HOST:PORT…]")
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
