#!/usr/bin/python3
"""dashboard_test.py WQCTL SOURCE_DIR: checks packaging/grafana/wq.json without a Grafana.

It is JSON with the fields that Grafana needs; its panels have ids of their own and do not overlap;
every metric in an expression is on docs/metrics.md, and a real owner exports it, unless it is one of
a replica. Every metric of the page is on the dashboard. live_test.py evaluates the expressions."""

import collections
import json
import os
import re
import sys
import tempfile

from dashboard import expressions, read_dashboard
from metric_names import HISTOGRAM_ENDS, documented, names_in, scraped
from processes import Owner, wait_until

WQCTL = os.path.realpath(sys.argv[1])
SOURCE = os.path.realpath(sys.argv[2])
FAILED = []


def check(holds, message):
    if not holds and message not in FAILED:
        FAILED.append(message)


def check_panels(panels):
    ids = collections.Counter(panel["id"] for panel in panels)
    for one, times in ids.items():
        check(times == 1, f"{times} panels have the id {one}")
    taken = {}
    for panel in panels:
        title = panel["title"]
        at = panel["gridPos"]
        check(0 <= at["x"] and at["x"] + at["w"] <= 24, f"{title}: wider than the page")
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])):
            check(cell not in taken, f"{title}: covers {taken.get(cell)}")
            taken[cell] = title
        if panel["type"] == "row":
            continue
        check(panel["targets"], f"{title}: no expression")
        refs = [target["refId"] for target in panel["targets"]]
        check(len(set(refs)) == len(refs), f"{title}: the refIds {refs}")
        source = panel["datasource"]  # Of its targets, too.
        check(source == {"type": "prometheus", "uid": "${datasource}"}, f"{title}: {source}")


def check_variables(dashboard):
    variables = dashboard["templating"]["list"]
    names = [variable["name"] for variable in variables]
    check({"datasource", "store", "queue"} <= set(names), f"the variables {names}")
    text = json.dumps(dashboard["panels"]) + "".join(str(v.get("query")) for v in variables)
    used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__all"}
    check(used == set(names), f"the variables {names}, but used: {used}")


def exported():
    """The names of the series that a real owner has."""
    with tempfile.TemporaryDirectory() as folder, \
         Owner(WQCTL, folder, ["-q", "pods"], ["true"]) as owner:
        return scraped(wait_until(owner.metrics, "metrics"))


def base_of(name):
    """The name of the metric that a series belongs to, as far as this test tells them apart."""
    return re.sub(f"({'|'.join(HISTOGRAM_ENDS)})$", "", name)


def check_names(found):
    with open(os.path.join(SOURCE, "docs", "metrics.md"), encoding="utf-8") as file:
        on_page = documented(file.read())
    real = exported()
    used = set().union(*(names_in(expression) for expression in found))
    for name in sorted(used - on_page):
        check(False, f"{name} is not on docs/metrics.md")
    for name in sorted(used | on_page):
        check(name in real or name.startswith("wq_replica_"), f"no owner exports {name}")
    for name in sorted({base_of(name) for name in on_page} - {base_of(name) for name in used}):
        check(False, f"{name} is on docs/metrics.md, but not on the dashboard")


def main():
    dashboard = read_dashboard(SOURCE)
    check(dashboard["uid"] and dashboard["title"] and dashboard["schemaVersion"] >= 30,
          "no dashboard of Grafana")
    check_panels(dashboard["panels"])
    check_variables(dashboard)
    found = expressions(dashboard)
    for expression in found:
        check(names_in(expression), f"no metric of wq in {expression}")
    check_names(found)
    for message in FAILED:
        print(f"dashboard_test: {message}", file=sys.stderr)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
