#!/usr/bin/python3
"""rules_test.py SOURCE_DIR: checks the alerts of packaging/prometheus without a Prometheus.

promtool runs their unit tests. Each alert is complete, is on docs/alerts.md, and names metrics of
docs/metrics.md only. Each has a unit test that fails if the alert never fires, and one that fails
if it fires at once: both are tried."""

import copy
import os
import re
import subprocess
import sys
import tempfile

import yaml

from metric_names import documented, names_in

SOURCE = os.path.realpath(sys.argv[1])
FOLDER = os.path.join(SOURCE, "packaging", "prometheus")
FAILED = []


def check(holds, message):
    if not holds and message not in FAILED:
        FAILED.append(message)


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def alerts_of(rules):
    return [rule for group in rules["groups"] for rule in group["rules"]]


def unit_tests_pass(folder):
    """Runs the unit tests in `folder`; returns whether they pass, and what promtool says."""
    done = subprocess.run(["promtool", "test", "rules", "wq.rules.test.yaml"], cwd=folder,
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def passes_with(rules, tests):
    """Whether the unit tests pass with other rules."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("wq.rules.yaml", rules), ("wq.rules.test.yaml", tests)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                yaml.safe_dump(content, file)
        return unit_tests_pass(folder)[0]


def check_alert(alert, page, metrics):
    name = alert["alert"]
    check(re.fullmatch(r"Wq[A-Za-z]+", name), f"{name}: the name")
    check(re.fullmatch(r"[0-9]+m", alert.get("for", "")), f"{name}: no for")
    check(alert["labels"].get("severity") in ("warning", "critical"), f"{name}: no severity")
    check(set(alert["annotations"]) == {"summary", "description", "runbook_url"},
          f"{name}: the annotations {set(alert['annotations'])}")
    check(alert["annotations"].get("runbook_url") == f"docs/alerts.md#{name.lower()}",
          f"{name}: the runbook_url")
    check(re.search(f"^## {name}$", page, re.MULTILINE), f"{name}: not on docs/alerts.md")
    names = names_in(alert["expr"])
    check(names, f"{name}: no metric")
    for metric in names - metrics - {"up"}:
        check(False, f"{name}: {metric} is not on docs/metrics.md")
    check(any(metric.startswith("wq_") for metric in names), f"{name}: may be of another program")


def check_unit_tests(rules, tests):
    """Changes one alert at a time: a unit test must fail."""
    check(passes_with(rules, tests), "the rules, written anew, fail")
    for i, alert in enumerate(alerts_of(rules)):
        name = alert["alert"]
        own = [case for case in tests["tests"]
               if any(one["alertname"] == name for one in case["alert_rule_test"])]
        check(any(not any("exp_alerts" in one for one in case["alert_rule_test"]) for case in own),
              f"{name}: no unit test in which it does not fire")
        own_tests = dict(tests, tests=own)
        never = copy.deepcopy(rules)
        alerts_of(never)[i]["expr"] = "vector(0) > 0"
        check(not passes_with(never, own_tests), f"{name}: no unit test in which it fires")
        at_once = copy.deepcopy(rules)
        del alerts_of(at_once)[i]["for"]
        check(not passes_with(at_once, own_tests), f"{name}: no unit test of its for")


def main():
    passed, text = unit_tests_pass(FOLDER)
    check(passed, text)
    rules = yaml.safe_load(read("packaging", "prometheus", "wq.rules.yaml"))
    tests = yaml.safe_load(read("packaging", "prometheus", "wq.rules.test.yaml"))
    page = read("docs", "alerts.md")
    metrics = documented(read("docs", "metrics.md"))
    for alert in alerts_of(rules):
        check_alert(alert, page, metrics)
    names = {alert["alert"] for alert in alerts_of(rules)}
    for name in set(re.findall(r"^## (Wq\w+)$", page, re.MULTILINE)) - names:
        check(False, f"docs/alerts.md: there is no alert {name}")
    check_unit_tests(rules, tests)
    for message in FAILED:
        print(f"rules_test: {message}", file=sys.stderr)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
