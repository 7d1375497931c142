#!/usr/bin/python3
"""replicas_test.py WQCTL SOURCE_DIR: the alerts and the dashboard of a replicated store.

Two replicas of a store, an etcd, and a real Prometheus. After a takeover, in which the former owner
ends, no alert remains; when the last replica has ended, nobody owns the store."""

import os
import subprocess
import sys
import tempfile

from metric_names import documented, scraped
from processes import Work, end, free_port, get, wait_until
from prometheus import Prometheus

WQCTL = os.path.realpath(sys.argv[1])
SOURCE = os.path.realpath(sys.argv[2])


class Etcd:
    """An etcd of one member. Lifetime: from the construction, when it answers, to `close`."""

    def __init__(self, folder):
        self._process = None
        while self._process is None:  # Another program may take a port first.
            self._start(folder)

    def _start(self, folder):
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        with open(os.path.join(folder, "etcd.log"), "wb") as log:
            self._process = subprocess.Popen(
                ["etcd", "--name", "one", "--data-dir", tempfile.mkdtemp(dir=folder),
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"one={peer}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.log = f"etcd://{client.removeprefix('http://')}/wq/pods"
        wait_until(lambda: self._process.poll() is not None or self._leads(), "etcd")
        if self._process.poll() is not None:
            self._process = None

    def _leads(self):
        done = subprocess.run([WQCTL, "replication", "status", self.log, "-o", "json"],
                              capture_output=True, text=True, check=False)
        return '"leads": true' in done.stdout or '"leads":true' in done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self._process)


def replica(folder, name, etcd, address):
    return Work(WQCTL, folder, name,
                ["-q", "pods", "--replicate", etcd.log, "--replica", name, "--lease", "2",
                 "--http", address], ["true"])


def check_names(address):
    """The owner of a replicated store exports each metric of the page."""
    with open(os.path.join(SOURCE, "docs", "metrics.md"), encoding="utf-8") as file:
        missing = documented(file.read()) - scraped(get(f"http://{address}/metrics"))
    assert not missing, missing


def check_takeover(prometheus, first, second, addresses):
    def owns(address):
        return prometheus.values(f"wq_replica_owner{{instance='{address}'}}") == [1]

    first.start()
    wait_until(lambda: owns(addresses[0]), "the first replica owns the store")
    check_names(addresses[0])
    prometheus.check_rules()
    prometheus.check_dashboard(lambda one: "wq_replica_" in one)
    second.start()
    wait_until(lambda: "waiting" in second.messages(), "the second replica waits")
    first.end()
    wait_until(lambda: owns(addresses[1]), "the second replica owns the store")
    wait_until(lambda: prometheus.values(f"up{{instance='{addresses[0]}'}}") == [0], "one is down")
    # A scrape of the second may have come later than the last of the first.
    wait_until(lambda: not prometheus.firing(), "no alert after a takeover")
    second.end()
    alert = wait_until(lambda: prometheus.firing().get("WqNoOwner"), "WqNoOwner fires")
    assert alert["annotations"]["summary"] == "No replica of job pods owns the store", alert
    assert "pods, 2 within" in alert["annotations"]["description"], alert
    assert set(prometheus.firing()) == {"WqNoOwner"}, prometheus.firing()
    first.start()
    wait_until(lambda: not prometheus.firing(), "WqNoOwner ends")


def main():
    with tempfile.TemporaryDirectory() as folder, Etcd(folder) as etcd:
        addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        with replica(folder, "first", etcd, addresses[0]) as first, \
             replica(folder, "second", etcd, addresses[1]) as second, \
             Prometheus(SOURCE, folder, "pods", addresses) as prometheus:
            try:
                check_takeover(prometheus, first, second, addresses)
            except BaseException:
                print(first.messages(), second.messages(), prometheus.log(), sep="\n",
                      file=sys.stderr)
                raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
