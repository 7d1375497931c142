"""A `wqctl work` that owns a store and serves its metrics, for tests.

    with Owner(wqctl, folder, ["-q", "pods"], ["true"]) as owner:
        wait_until(lambda: "wq_paused" in owner.metrics(), "metrics")

Every wait has a deadline."""

import os
import re
import signal
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


class Owner:
    """Lifetime: from the construction, when it serves, to the end of the with."""

    def __init__(self, wqctl, folder, options, command):
        self._wqctl = wqctl
        self.store = os.path.join(folder, "store")
        self._errors = os.path.join(folder, "owner.err")
        # The settings of the user have no effect.
        self._env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_CONFIG_HOME": folder,
                     "WQ_STORE": self.store}
        self.run("init")
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [wqctl, "work", "--follow", "--http", "127.0.0.1:0", "--grace", "1s", *options, "--",
                 *command],
                cwd=folder, env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors)
        self.address = f"127.0.0.1:{wait_until(self._port, 'the port of the owner')}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _port(self):
        if self._process.poll() is not None:
            raise RuntimeError("the owner has ended: " + self.messages())
        found = re.search(r"serving metrics on port ([0-9]+)", self.messages())
        return found and found[1]

    def messages(self):
        with open(self._errors, encoding="utf-8") as errors:
            return errors.read()

    def run(self, *arguments):
        """Runs wqctl with the store."""
        subprocess.run([self._wqctl, *arguments], env=self._env, check=True, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def metrics(self):
        return get(f"http://{self.address}/metrics")
