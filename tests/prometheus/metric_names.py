"""The names of metrics: those of docs/metrics.md, and those in an expression."""

import re

HISTOGRAM_ENDS = ("_bucket", "_sum", "_count")
_METRIC = re.compile(r"\b(?:wq|workqueue|controller_runtime)_[a-z_]+\b|\bup\b")


def documented(page):
    """The names of the series of each metric in the page's tables."""
    names = set()
    for name, kind in re.findall(r"^\| `([a-z_]+)` \| (gauge|counter|histogram) \|", page, re.M):
        names |= {name + end for end in HISTOGRAM_ENDS} if kind == "histogram" else {name}
    return names


def names_in(expression):
    """The names of metrics in an expression in PromQL."""
    without_text = re.sub(r"\"[^\"]*\"|'[^']*'", "", expression)
    return set(_METRIC.findall(without_text))


def scraped(text):
    """The names of the series in the text of /metrics."""
    return set(re.findall(r"^([a-z_]+)[{ ]", text, re.M))
