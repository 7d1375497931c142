"""Debian's Prometheus with the alerts of packaging/prometheus, for tests.

    with Prometheus(source, folder, "pods", ["127.0.0.1:9464"]) as prometheus:
        wait_until(lambda: prometheus.values("up{job='pods'}") == [1], "the target is up")

Every wait has a deadline."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.parse

from dashboard import expressions, read_dashboard, with_variables
from processes import end, free_port, get, wait_until

INTERVAL = "500ms"


def shortened_rules(source, folder):
    """A copy of the alerts that fire within a second."""
    with open(os.path.join(source, "packaging", "prometheus", "wq.rules.yaml"),
              encoding="utf-8") as file:
        text, times = re.subn(r"^( +for: )[0-9]+m$", r"\g<1>1s", file.read(), flags=re.MULTILINE)
    assert times > 0
    path = os.path.join(folder, "wq.rules.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Prometheus:
    """Lifetime: from the construction, when it answers, to the end of the with."""

    def __init__(self, source, folder, job, targets):
        self._source = source
        self._log = os.path.join(folder, "prometheus.log")
        config = os.path.join(folder, "prometheus.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL,
                                  "evaluation_interval": INTERVAL},
                       "rule_files": [shortened_rules(source, folder)],
                       "scrape_configs": [{"job_name": job,
                                           "static_configs": [{"targets": targets}]}]}, file)
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
        end(self._process)

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

    def check_rules(self):
        """Each rule could be evaluated."""
        rules = [rule for group in self.api("rules")["groups"] for rule in group["rules"]]
        assert rules
        for rule in rules:
            assert rule["health"] == "ok", rule

    def check_dashboard(self, wanted):
        """Each expression of the dashboard for which `wanted` holds has a value, or soon has."""
        found = [with_variables(one, ".*", "10s")
                 for one in expressions(read_dashboard(self._source)) if wanted(one)]
        assert found
        for one in found:
            wait_until(lambda one=one: self.values(one), one)
