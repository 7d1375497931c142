"""Processes that run workers, and signals to them."""

import signal
import subprocess
import sys
import unittest

import support

SYNC = """
import sys, wq
client = wq.Client(sys.argv[1])
@client.worker("pods", prefetch=1)
def reconcile(job):
    print("begun", job.text, flush=True)
    print("ended", sys.stdin.readline().strip(), flush=True)
client.run()
print("left", flush=True)
"""

AIO = """
import asyncio, sys, wq.aio
async def main():
    async with wq.aio.Client(sys.argv[1]) as client:
        @client.worker("pods")
        async def reconcile(job):
            print("begun", job.text, flush=True)
            line = await asyncio.to_thread(sys.stdin.readline)
            print("ended", line.strip(), flush=True)
        await client.run()
asyncio.run(main())
print("left", flush=True)
"""


class Signals:
    """The cases, by any server. `program` runs a worker of concurrency 1, until `first`."""

    first = signal.SIGTERM

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.pods = self.client(self.server)
        self.pods.add("pods", ["a", "b"], create=True)
        self.child = subprocess.Popen(
            [sys.executable, "-X", "dev", "-c", self.program, self.server.directory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(self.end)
        self.assertEqual(self.child.stdout.readline(), "begun a\n")

    def end(self):
        self.child.kill()
        self.child.communicate()

    def capacity(self):
        return [worker.capacity for worker in self.pods.workers("pods")]

    def until_no_keys_are_taken(self):
        """The worker has said that it stops."""
        while self.capacity() != [0]:
            self.assertIsNone(self.child.poll())

    def test_a_signal_lets_the_running_handler_end(self):
        self.child.send_signal(self.first)
        self.until_no_keys_are_taken()
        out, _ = self.child.communicate("well\n", timeout=support.WAIT)
        self.assertEqual((out, self.child.returncode), ("ended well\nleft\n", 0))
        counts = self.pods.counts("pods")
        self.assertEqual((counts.dones, counts.queued, counts.processing), (1, 1, 0))

    def test_a_second_signal_ends_the_process_at_once(self):
        self.child.send_signal(self.first)
        self.until_no_keys_are_taken()
        self.child.send_signal(signal.SIGINT)
        self.assertEqual(self.child.wait(support.WAIT), -signal.SIGINT)
        counts = support.wait_for_counts(self.pods, "pods", lambda counts: counts.queued == 2)
        self.assertEqual((counts.dones, counts.failing, counts.processing), (0, 0, 0))

    def test_the_keys_of_a_killed_process_are_given_back(self):
        self.child.kill()
        counts = support.wait_for_counts(self.pods, "pods", lambda counts: counts.queued == 2)
        self.assertEqual((counts.dones, counts.failing, counts.processing), (0, 0, 0))


class SyncSignals(Signals, support.Case):
    """wq.Client."""

    program = SYNC


class SignalsOfOtherThreads(Signals, support.Case):
    """wq.Client, whose main thread no signal interrupts: another thread takes them. That is as if
    each came right before the main thread began to wait."""

    program = """
import signal, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
""" + SYNC


class Interrupts(Signals, support.Case):
    """wq.Client without signals, which a KeyboardInterrupt ends, and leaves no worker behind."""

    first = signal.SIGINT
    program = "import threading" + SYNC.replace("client.run()", """
try:
    client.run(signals=False)
except KeyboardInterrupt:
    if any(thread.name == "wq-pods-receive" for thread in threading.enumerate()):
        raise
""")


class AioSignals(Signals, support.Case):
    """wq.aio.Client."""

    program = AIO


if __name__ == "__main__":
    unittest.main()
