"""The dashboard of packaging/grafana, as tests read it."""

import json
import os
import re


def read_dashboard(source):
    with open(os.path.join(source, "packaging", "grafana", "wq.json"), encoding="utf-8") as file:
        return json.load(file)


def expressions(dashboard):
    """Those of all panels."""
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def with_variables(expression, value, interval):
    """The expression, with `value` for each variable of the dashboard, as Grafana asks for it."""
    return re.sub(r"\$\w+", value, expression.replace("$__rate_interval", interval))
