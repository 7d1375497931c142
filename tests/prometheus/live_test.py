#!/usr/bin/python3
"""live_test.py WQCTL SOURCE_DIR: a real Prometheus scrapes a real owner.

It loads the alerts of packaging/prometheus, whose times are shortened. Keys that are not done make
an alert fire; a pause of the queue, and their end, make it end. Then every expression of the
dashboard has a value, but those of replicas."""

import os
import sys
import tempfile

from processes import Owner, wait_until
from prometheus import Prometheus

WQCTL = os.path.realpath(sys.argv[1])
SOURCE = os.path.realpath(sys.argv[2])


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


def main():
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate(folder)
        with Owner(WQCTL, folder, ["-q", "pods"], ["sh", "-c", "cat gate", "{}"]) as owner, \
             Prometheus(SOURCE, folder, "pods", [owner.address]) as prometheus:
            try:
                check_alert(owner, prometheus, gate)
                prometheus.check_rules()
                prometheus.check_dashboard(lambda one: "wq_replica_" not in one)
            except BaseException:
                print(owner.messages(), prometheus.log(), sep="\n", file=sys.stderr)
                raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
