"""What a handler can return or raise, besides None (done) and any other exception (failed)."""

from __future__ import annotations

import traceback

from wq import _types
from wq.v1 import work_pb2

_MAX_ERROR_BYTES = 1024  # What a store keeps of an error's text.


class Outcome(Exception):
    """The base of RequeueAfter, Quarantine and GiveBack. They may be returned or raised."""


class RequeueAfter(Outcome):
    """The key's failures are forgotten, and it is added again after a delay (seconds). Raises
    InvalidArgument: the delay is negative, NaN or infinite."""

    def __init__(self, delay: _types.Duration) -> None:
        super().__init__(delay)
        self.delay_us = _types.microseconds("delay", delay)


class Quarantine(Outcome):
    """A failure is counted, and the key goes to quarantine: it is not tried again."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class GiveBack(Outcome):
    """The key is queued again, first in its lane, and nothing is counted."""


def error_text(error: object) -> str:
    """The text that a store keeps of a failure: of an exception "ValueError: its message"."""
    if isinstance(error, BaseException):
        error = "".join(traceback.format_exception_only(type(error), error)).strip()
    text = str(error).encode(errors="replace")[:_MAX_ERROR_BYTES]
    return text.decode(errors="ignore")


def fill(answer: work_pb2.Answer, outcome: object) -> None:
    """Puts the outcome of a handler into its answer. What is no Outcome, nor None, is a failure."""
    if outcome is None:
        answer.done.SetInParent()
    elif isinstance(outcome, RequeueAfter):
        answer.requeue_after.delay_us = outcome.delay_us
    elif isinstance(outcome, GiveBack):
        answer.give_back.SetInParent()
    elif isinstance(outcome, Quarantine):
        answer.failed.error = error_text(outcome.error)
        answer.failed.quarantine = True
    else:
        answer.failed.error = error_text(outcome)
