#!/usr/bin/python3
"""live_test.py WQCTL SOURCE_DIR: a real Prometheus scrapes a real owner.

It loads the alerts of packaging/prometheus, whose times are shortened. Keys that are not done make
an alert fire; a pause of the queue, and their end, make it end. Then every expression of the
dashboard has a value, but those of replicas."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse

from dashboard import expressions, read_dashboard, with_variables
from owner import DEADLINE_S, Owner, get, wait_until

WQCTL = os.path.realpath(sys.argv[1])
SOURCE = os.path.realpath(sys.argv[2])
INTERVAL = "500ms"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    """Debian's Prometheus, with `target` in the job pods, and the rules in `rules`."""

    def __init__(self, folder, target, rules):
        self._log = os.path.join(folder, "prometheus.log")
        config = os.path.join(folder, "prometheus.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL,
                                  "evaluation_interval": INTERVAL},
                       "rule_files": [rules],
                       "scrape_configs": [{"job_name": "pods",
                                           "static_configs": [{"targets": [target]}]}]}, file)
        self._process = None
        while self._process is None:  # Another program may take the port first.
            self._start(folder, config)

    def _start(self, folder, config):
        self.url = f"http://127.0.0.1:{free_port()}"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", "--log.level=warn",
                 f"--storage.tsdb.path={os.path.join(folder, 'tsdb')}",
                 f"--web.listen-address={self.url.removeprefix('http://')}"],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self._process.poll() is not None or self._ready(), "Prometheus")
        if self._process.poll() is not None:
            if "address already in use" not in self.log():
                raise RuntimeError("Prometheus has ended: " + self.log())
            self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log(self):
        with open(self._log, encoding="utf-8") as log:
            return log.read()

    def _ready(self):
        try:
            return get(f"{self.url}/-/ready")
        except (urllib.error.URLError, ConnectionError):
            return ""

    def api(self, path, **arguments):
        answer = json.loads(get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"))
        return answer["data"]

    def values(self, expression):
        return [float(one["value"][1]) for one in self.api("query", query=expression)["result"]]

    def firing(self):
        return {alert["labels"]["alertname"]: alert for alert in self.api("alerts")["alerts"]
                if alert["state"] == "firing"}


def shortened_rules(folder):
    """A copy of the alerts that fire within a second."""
    with open(os.path.join(SOURCE, "packaging", "prometheus", "wq.rules.yaml"),
              encoding="utf-8") as file:
        text, times = re.subn(r"^( +for: )[0-9]+m$", r"\g<1>1s", file.read(), flags=re.MULTILINE)
    assert times > 0
    path = os.path.join(folder, "wq.rules.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Gate:
    """A file whose reading blocks until the gate is opened."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "gate")
        os.mkfifo(self.path)

    def open(self):
        """Blocks: until somebody reads."""
        writer = os.open(self.path, os.O_WRONLY)
        with open(self.path + ".open", "wb"):
            pass
        os.replace(self.path + ".open", self.path)  # For later readers.
        os.close(writer)


def check_alert(owner, prometheus, gate):
    name = "WqNoProgress"
    depth = "sum(workqueue_depth{job='pods', name='pods'})"
    wait_until(lambda: prometheus.values("up{job='pods'}") == [1], "the target is up")
    wait_until(lambda: prometheus.values(depth) == [0], "the queue is empty")
    assert not prometheus.firing(), prometheus.firing()
    owner.run("add", "-q", "pods", "a", "b", "c")  # One of them is processing.
    wait_until(lambda: prometheus.values(depth) == [2], "the depth is 2")
    alert = wait_until(lambda: prometheus.firing().get(name), f"{name} fires")
    assert alert["labels"]["severity"] == "critical", alert
    assert alert["annotations"]["summary"] == "No key of queue pods is done", alert
    assert "has 2 queued keys" in alert["annotations"]["description"], alert
    owner.run("pause", "-q", "pods", "--yes")
    wait_until(lambda: name not in prometheus.firing(), f"{name} ends with a pause")
    wait_until(lambda: prometheus.values(depth) == [2], "the depth is still 2")
    owner.run("resume", "-q", "pods", "--yes")
    wait_until(lambda: name in prometheus.firing(), f"{name} fires again")
    gate.open()
    wait_until(lambda: prometheus.values(depth) == [0], "the keys are done")
    wait_until(lambda: name not in prometheus.firing(), f"{name} ends")
    done = "controller_runtime_reconcile_total{controller='pods', result='success'}"
    wait_until(lambda: prometheus.values(done) == [3], "three commands have succeeded")


def check_rules(prometheus):
    """Prometheus could evaluate each rule."""
    rules = [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]
    assert rules
    for rule in rules:
        assert rule["health"] == "ok", rule


def check_dashboard(prometheus):
    for expression in expressions(read_dashboard(SOURCE)):
        asked = with_variables(expression, ".*", "10s")
        if "wq_replica_" not in asked:
            wait_until(lambda asked=asked: prometheus.values(asked), asked)


def main():
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate(folder)
        with Owner(WQCTL, folder, ["-q", "pods"], ["sh", "-c", "cat gate", "{}"]) as owner, \
             Prometheus(folder, owner.address, shortened_rules(folder)) as prometheus:
            try:
                check_alert(owner, prometheus, gate)
                check_rules(prometheus)
                check_dashboard(prometheus)
            except BaseException:
                print(owner.messages(), prometheus.log(), sep="\n", file=sys.stderr)
                raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
