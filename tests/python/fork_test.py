"""Forked children of processes with and without a client."""

import subprocess
import sys
import unittest

import support

# A handler forks for each key; its name says what the child does.
SYNC = """
import os, sys, wq
if os.fork() == 0:  # Before the first client.
    print("before:", wq.Client(sys.argv[1]).counts("pods").queued, flush=True)
    os._exit(0)
os.wait()
client = wq.Client(sys.argv[1], timeout=300)
def refused(what, call):
    try:
        call()
    except wq.NotSupported as error:
        print(what, "os._exit" in error.message, flush=True)
@client.worker("pods")
def reconcile(job):
    pid = os.fork()
    if pid == 0 and job.text == "calls":
        refused("new", lambda: wq.Client(sys.argv[1]))
        refused("call", lambda: client.counts("pods"))
        refused("answer", job.done)
        refused("session", lambda: client.work("pods"))
        client.close()
        os._exit(0)
    if pid == 0:
        return
    print(job.text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    client.add("pods", "more", delay=3600)
    if job.text == "returns":
        client.stop()
client.run()
print("done", client.stats()["pods"].done, flush=True)
"""

AIO = """
import asyncio, os, sys, wq.aio
async def refused(what, call):
    try:
        await call()
    except wq.NotSupported as error:
        print(what, "os._exit" in error.message, flush=True)
async def main():
    client = wq.aio.Client(sys.argv[1], timeout=300)
    async def new():
        wq.aio.Client(sys.argv[1])
    async def session():
        async with client.work("pods"):
            pass
    @client.worker("pods")
    async def reconcile(job):
        pid = os.fork()
        if pid == 0 and job.text == "calls":
            await refused("new", new)
            await refused("call", lambda: client.counts("pods"))
            await refused("answer", job.done)
            await refused("session", session)
            await client.close()
            os._exit(0)
        if pid == 0:
            if job.text == "awaits":
                await asyncio.sleep(300)
            return
        print(job.text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        await client.add("pods", "more", delay=3600)
        if job.text == "returns":
            client.stop()
    await client.run()
    print("done", client.stats()["pods"].done, flush=True)
asyncio.run(main())
"""
REFUSED = ["new True", "call True", "answer True", "session True", "calls 0"]


class Forks(support.Case):
    """The cases, by any server."""

    def check(self, program, keys, expected):
        server = self.serve()
        self.client(server).add("pods", keys, create=True)
        ended = subprocess.run(
            [sys.executable, "-X", "dev", "-c", program, server.directory],
            capture_output=True, text=True, timeout=support.WAIT,
        )  # fmt: skip
        self.assertEqual(ended.stdout.splitlines(), expected, ended.stderr)
        self.assertEqual(ended.stderr.count("came back from it"), len(keys) - 1, ended.stderr)

    def test_a_child_of_a_process_with_a_client_is_refused(self):
        expected = ["before: 2", *REFUSED, "returns 1", "done 2"]
        self.check(SYNC, ["calls", "returns"], expected)

    def test_a_child_of_a_loop_with_a_client_is_refused(self):
        self.check(AIO, ["calls", "awaits", "returns"],
                   [*REFUSED, "awaits 1", "returns 1", "done 3"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
