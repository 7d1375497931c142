"""Processes for tests: a `wqctl work` that owns a store and serves its metrics.

    with Owner(wqctl, folder, ["-q", "pods"], ["true"]) as owner:
        wait_until(lambda: "wq_paused" in owner.metrics(), "metrics")

Every wait has a deadline."""

import os
import re
import socket
import subprocess
import time
import urllib.request

DEADLINE_S = 30


def wait_until(holds, what, deadline_s=DEADLINE_S):
    """Polls until `holds` returns something true, and returns that."""
    end = time.monotonic() + deadline_s
    pause_s = 0.01
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline_s} s: {what}")
        time.sleep(pause_s)  # Between two looks at what holds.
        pause_s = min(2 * pause_s, 0.2)


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def end(process):
    """Ends a process that may have ended, by SIGTERM if it obeys."""
    process.terminate()
    try:
        process.wait(DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Owner:
    """A `wqctl work --follow` with --http, of a new store with a source. It serves when it is constructed.
    Lifetime: to the end of the with."""

    def __init__(self, wqctl, folder, options, command):
        self._wqctl = wqctl
        self._messages = os.path.join(folder, "owner.err")
        # The settings of the user have no effect.
        self._env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_CONFIG_HOME": folder,
                     "WQ_STORE": os.path.join(folder, "owner")}
        self._arguments = [wqctl, "work", "--follow", "--grace", "1s", "--http", "127.0.0.1:0",
                           *options, "--", *command]
        self._folder = folder
        self.run("init")
        self.run("sync", "-q", "pods", "--source", "objects", "-")  # No object yet.
        self._process = self._start()
        try:
            self.address = f"127.0.0.1:{wait_until(self.port, 'the port of the owner')}"
        except BaseException:
            end(self._process)
            raise

    def _start(self):
        with open(self._messages, "wb") as messages:
            return subprocess.Popen(
                self._arguments, cwd=self._folder, env=self._env, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=messages)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self._process)

    def port(self):
        """The port of its metrics; nothing as long as it serves none."""
        if self._process.poll() is not None:
            raise RuntimeError("wqctl work has ended: " + self.messages())
        found = re.search(r"serving metrics on port ([0-9]+)", self.messages())
        return found and found[1]

    def messages(self):
        with open(self._messages, encoding="utf-8") as messages:
            return messages.read()

    def run(self, *arguments):
        """Runs wqctl with the store."""
        subprocess.run([self._wqctl, *arguments], env=self._env, check=True, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def metrics(self):
        return get(f"http://{self.address}/metrics")
