"""What the tests of the Python client share.

`serve` starts a server for a test, `$WQ_SERVER --store DIR serve`; `serve_fake` one that misbehaves
when it is asked to.
"""

import asyncio
import datetime
import faulthandler
import logging
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import wq
from fake import FakeServer

WAIT = 300.0  # Seconds after which a test fails that waits.
REAL = os.environ["WQ_SERVER"]


class Textless:
    """Has no text."""

    def __str__(self):
        raise ValueError("no text")


class Unmade(wq.RequeueAfter):
    """Without a delay."""

    def __init__(self):
        pass


# Answers of handlers, and what the errors of their keys have then; None: the key is delayed.
ANSWERS = {
    "the longest": (lambda: wq.RequeueAfter(datetime.timedelta.max), None),
    "long": (lambda: wq.RequeueAfter(1e13), None),
    "nan": (lambda: wq.RequeueAfter(float("nan")), "delay nan: "),
    "negative": (lambda: wq.RequeueAfter(-5), "delay -5: "),
    "no text": (lambda: wq.Quarantine(Textless()), "ValueError: no text"),
    "no delay": (Unmade, "AttributeError: "),
}


class RealServer:
    """`wqctl --store DIR serve` as a child process."""

    def __init__(self, directory):
        self.directory = str(directory)
        self._process = None

    def start(self):
        """Returns when the server answers."""
        self._process = subprocess.Popen(
            [REAL, "--store", self.directory, "serve"], stderr=subprocess.PIPE, text=True
        )
        line = self._process.stderr.readline()  # The one that says what is served.
        if "serving" not in line:
            raise AssertionError(f"the server has ended: {line}")

    def stop(self):
        """Kills the server."""
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        faulthandler.dump_traceback_later(4 * WAIT, exit=True)  # A test that hangs shows where.
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="wq-py-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def serve(self, name="store"):
        """Starts a server of a new store below the test's directory."""
        directory = self.directory / name
        directory.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([REAL, "--store", directory, "init"], check=True, capture_output=True)
        return self._started(RealServer(directory))

    def serve_fake(self):
        """The same, of the fake server."""
        directory = self.directory / "fake"
        directory.mkdir()
        return self._started(FakeServer(directory))

    def _started(self, server):
        server.start()
        self.addCleanup(server.stop)
        return server

    def client(self, server, **options):
        """A client that is closed at the end of the test."""
        client = wq.Client(server.directory, **options)
        self.addCleanup(client.close)
        return client

    def start(self, client, **options):
        """Runs the client's workers in a thread until the end of the test."""
        run = Run(client, options)
        self.addCleanup(run.stop)
        return run

    def get(self, events):
        """The next of a queue.Queue."""
        return events.get(timeout=WAIT)

    def wait(self, event):
        """Waits for a threading.Event."""
        self.assertTrue(event.wait(WAIT), "the event has not happened")

    def check_answers(self, failed):
        """`failed` has the (key, last error) of those of ANSWERS."""
        self.assertEqual(len(dict(failed)), len(failed))
        for key, error in failed:
            self.assertIn(ANSWERS[key][1], error)

    def quiet(self):
        """Checks that something is logged, which this test expects, and keeps it off the output."""
        logs = self.assertLogs("wq", "WARNING")
        self.addCleanup(logs.__exit__, None, None, None)
        return logs.__enter__()

    def event_of_a_log_message(self):
        """An event that the next message to the logger "wq" sets."""
        event = threading.Event()
        handler = logging.Handler()
        handler.emit = lambda record: event.set()
        logging.getLogger("wq").addHandler(handler)
        self.addCleanup(logging.getLogger("wq").removeHandler, handler)
        return event


class Run:
    """Client.run in a thread."""

    def __init__(self, client, options):
        self._client = client
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(options,), daemon=True)
        self._thread.start()

    def _run(self, options):
        try:
            self._client.run(**options)
        except wq.Error as error:
            self._error = error

    def stop(self):
        """Ends the run; raises its error."""
        if self._thread.is_alive():
            self._client.stop()
        self.join()

    def join(self):
        """Waits for the end; raises the error of `run`."""
        self._thread.join(WAIT)
        if self._thread.is_alive():
            raise AssertionError("Client.run does not end")
        error, self._error = self._error, None
        if error is not None:
            raise error


def wait_for_counts(client, queue, condition):
    """Waits until the counters of a queue are as wanted, by any server."""
    deadline = time.monotonic() + WAIT
    while not condition(counts := client.counts(queue)):
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {WAIT} s: {counts}")
        time.sleep(0.01)
    return counts


class Blocking:
    """wq.aio.Client with blocking methods, so that the same cases test both clients."""

    def __init__(self, make):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

        async def made():
            return make()

        try:
            self._client = self.wait(made())
        except wq.Error:
            self._end()
            raise

    def wait(self, coroutine):
        """The result of a coroutine on the client's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT)

    def close(self):
        """Ends the loop, too."""
        self.wait(self._client.close())
        self._end()

    def _end(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __getattr__(self, name):
        method = getattr(self._client, name)

        def call(*arguments, **options):
            result = method(*arguments, **options)
            return self.wait(result) if asyncio.iscoroutine(result) else result

        return call
