"""The state of a worker, without I/O: its jobs, its Work stream, and the keys that handlers of this
process work on.
"""

from __future__ import annotations

import datetime
import logging
import random
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Generic, List, Optional, Tuple, TypeVar

from wq import _types, errors, outcomes
from wq.v1 import work_pb2

log = logging.getLogger("wq")

DEFAULT_SILENCE_LIMIT = 30.0  # Seconds; the server's default.
# Of one message. With errors of 1 KiB each, the server accepts it.
MAX_ANSWERS = 1000
FINISH = 5.0  # Seconds that a worker that ends waits for the results of its last answers.
STOPPED = "the worker stops, and its grace is over"


@dataclass
class Stats:
    """Totals of a worker since it was made.

    `refused` counts answers that did not take effect, other than those for lost keys. `lost` counts
    keys that the server took away, or that were held when a stream broke.
    """

    assigned: int = 0
    done: int = 0
    failed: int = 0
    requeued: int = 0
    given_back: int = 0
    refused: int = 0
    lost: int = 0
    connects: int = 0

    def count(self, outcome: object) -> None:
        """Counts an answer that took effect."""
        if outcome is None:
            self.done += 1
        elif isinstance(outcome, outcomes.RequeueAfter):
            self.requeued += 1
        elif isinstance(outcome, outcomes.GiveBack):
            self.given_back += 1
        else:
            self.failed += 1


@dataclass(frozen=True)
class Reply:
    """The result of an answer that took effect."""

    failures: int  # Of a failed key: how often, with this failure.
    quarantined: bool


class JobBase:
    """An assigned key. Its attributes do not change, except `lost`."""

    __slots__ = ("key", "token", "_assignment", "_stream", "_lost", "_started", "_answered")

    def __init__(self, assignment: work_pb2.Assignment, stream: Any) -> None:
        self.key: bytes = assignment.key
        #: Grows with every assignment of the store. Pass it to what the handler writes to, which
        #: refuses a lower token than it has seen.
        self.token: int = assignment.token
        self._assignment = assignment
        self._stream = stream
        self._lost: Optional[str] = None
        # Under the lock of the stream.
        self._started = False
        self._answered = False

    def __repr__(self) -> str:
        return f"<wq job {self.key!r} token {self.token}>"

    @property
    def text(self) -> str:
        """The key as text. Raises UnicodeDecodeError if it is not UTF-8."""
        return self.key.decode()

    @property
    def attempt(self) -> int:
        """1, plus the failures, plus how often the key was given back since its last answer."""
        return self._assignment.attempt

    @property
    def failures(self) -> int:
        """How often the key has failed since its failures were forgotten."""
        return self._assignment.failures

    @property
    def last_error(self) -> str:
        """The error of the last failure, or ""."""
        return self._assignment.last_error

    @property
    def lane(self) -> int:
        """The key's lane."""
        return self._assignment.lane

    @property
    def group(self) -> bytes:
        """The key's group."""
        return self._assignment.group

    @property
    def causes(self) -> Tuple[_types.Cause, ...]:
        """Why the key needs work: the first 8 causes of the Adds since the hand-out before."""
        return tuple(_types.Cause(c.reason, c.trace_parent) for c in self._assignment.causes)

    @property
    def causes_left_out(self) -> int:
        """At least so many more Adds had another cause."""
        return self._assignment.causes_left_out

    @property
    def added_at(self) -> datetime.datetime:
        """When the key became dirty, by the server's clock."""
        return _types.time_of(self._assignment.added_at_us)

    @property
    def lost(self) -> bool:
        """Whether the key was taken away: another worker may have it now. The answer is dropped."""
        return self._lost is not None

    @property
    def lost_reason(self) -> str:
        """Why the key was taken away; "" while it is this worker's."""
        return self._lost or ""

    def _note_lost(self) -> None:
        """The key was taken away. Under the lock of the stream."""


J = TypeVar("J", bound=JobBase)


class StreamState(Generic[J]):
    """The state of one Work stream. Thread-compatible: its owner locks."""

    def __init__(self, hello: work_pb2.Hello, stats: Stats) -> None:
        self.queue: str = hello.queue
        self.stats = stats
        self.welcomed = False
        self.store_uuid = ""
        silence = hello.silence_limit_us / 1e6 or DEFAULT_SILENCE_LIMIT
        #: Seconds after which an empty message is due while keys are held.
        self.beat = silence / 3
        #: Assigned and not answered, by token.
        self.held: Dict[int, J] = {}
        self._capacity: int = hello.capacity
        self._out = work_pb2.WorkRequest(hello=hello)
        self._anything = True  # Whether _out has something to send.
        # Answers without a result: (job, outcome, waiter) by token.
        self._sent: Dict[int, Tuple[J, object, Any]] = {}
        self._questions: Dict[int, List[Any]] = {}

    @property
    def unconfirmed(self) -> int:
        """How many answers have no result yet."""
        return len(self._sent)

    @property
    def pending(self) -> bool:
        """Whether `take` returns something to send."""
        return self._anything

    def take(self) -> work_pb2.WorkRequest:
        """What has accumulated since the last call; if that is nothing, a heartbeat."""
        out, self._out = self._out, work_pb2.WorkRequest()
        self._out.answers.extend(out.answers[MAX_ANSWERS:])
        del out.answers[MAX_ANSWERS:]
        self._anything = len(self._out.answers) > 0
        return out

    def assign(self, job: J) -> None:
        """Notes a new key."""
        self.held[job.token] = job
        self.stats.assigned += 1

    def answer(self, job: J, outcome: object, waiter: Any, durability: Any) -> bool:
        """Queues the answer of a job. False if it is answered already, or is of a former stream.

        An outcome that cannot be encoded is a failure of the key, with the error of that.
        """
        if job._answered or self.held.pop(job.token, None) is None:
            return False
        job._answered = True
        answer = work_pb2.Answer(token=job.token, durability=durability)
        try:
            outcomes.fill(answer, outcome)
        except Exception as error:
            log.warning("wq: queue %s: the answer for %r: %s", self.queue, job, error)
            outcome = error
            outcomes.fill(answer, outcome)
        self._out.answers.append(answer)
        self._anything = True
        self._sent[job.token] = (job, outcome, waiter)
        return True

    def start(self, job: J) -> None:
        """Queues that the work on a job begins now."""
        job._started = True
        self._out.started.append(job.token)
        self._anything = True

    def ask_added_again(self, job: J, waiter: Any) -> None:
        """Queues the question whether a key was added again."""
        self._out.added_again.append(job.token)
        self._anything = True
        self._questions.setdefault(job.token, []).append(waiter)

    def set_capacity(self, capacity: int) -> None:
        """Queues a change of the capacity, if it is one."""
        if capacity != self._capacity:
            self._capacity = capacity
            self._out.capacity = capacity
            self._anything = True

    def receive(self, response: work_pb2.WorkResponse) -> List[J]:
        """Applies all of a response but its assignments. Returns the jobs that were lost."""
        if response.HasField("welcome"):
            self.welcomed = True
            self.store_uuid = response.welcome.store_uuid
            if response.welcome.silence_limit_us:
                self.beat = response.welcome.silence_limit_us / 3e6
        for result in response.results:
            self._result(result)
        for again in response.added_again:
            self._added_again(again)
        lost = []
        for loss in response.lost:
            job = self.held.get(loss.token)
            if job is not None and not job.lost:
                self._lose(job, loss.reason)
                lost.append(job)
        return lost

    def _lose(self, job: J, reason: str) -> None:
        job._lost = reason or "taken away by the server"
        self.stats.lost += 1
        job._note_lost()

    def _result(self, result: work_pb2.AnswerResult) -> None:
        sent = self._sent.pop(result.token, None)
        if sent is None:
            log.warning("wq: queue %s: a result for the unknown token %d", self.queue, result.token)
            return
        job, outcome, waiter = sent
        error = errors.of_message(result.error) if result.error.code else None
        if error is None or error.code == "NotDurable":
            self.stats.count(outcome)
            if error is not None:
                log.warning("wq: queue %s: the answer for %r: %s", self.queue, job, error.message)
        elif not job.lost:
            self.stats.refused += 1
            log.warning(
                "wq: queue %s: the answer for %r was refused: %s: %s",
                self.queue, job, error.code, error.message,
            )  # fmt: skip
        if waiter is not None and not waiter.done():
            if error is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(Reply(result.failures, result.quarantined))

    def _added_again(self, again: work_pb2.AddedAgain) -> None:
        waiters = self._questions.get(again.token)
        if not waiters:
            return
        waiter = waiters.pop(0)
        if not waiters:
            del self._questions[again.token]
        if not waiter.done():
            waiter.set_result(again.added_again or not again.held)

    def end(self, reason: str) -> None:
        """The stream has ended: its keys are given back."""
        for job in self.held.values():
            if not job.lost:
                self._lose(job, reason)
        self.held.clear()
        for _, _, waiter in self._sent.values():
            if waiter is not None and not waiter.done():
                waiter.set_exception(
                    errors.Unavailable(f"the outcome of the answer is unknown: {reason}")
                )
        self._sent.clear()
        for waiters in self._questions.values():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(True)  # The work is stale.
        self._questions.clear()


class KeysInUse:
    """The keys that handlers of this process work on. Thread-safe.

    After a broken stream the server can assign a key to this process whose handler still runs. The
    new run waits for the old one to end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Dict[Any, Optional[Deque[Callable[[], None]]]] = {}

    def acquire(self, key: Any, ready: Callable[[], None]) -> bool:
        """Marks the key as in use and returns True; or returns False, and calls `ready`, on any
        thread, when it is the caller's."""
        with self._lock:
            if key not in self._waiting:
                self._waiting[key] = None
                return True
            waiting = self._waiting[key]
            if waiting is None:
                waiting = self._waiting[key] = deque()
            waiting.append(ready)
            return False

    def release(self, key: Any) -> None:
        """Ends the use of the key by the caller."""
        with self._lock:
            waiting = self._waiting[key]
            if not waiting:
                del self._waiting[key]
                return
            ready = waiting.popleft()
        ready()


KEYS_IN_USE = KeysInUse()


class Backoff:
    """How long to wait before the next attempt to connect, in seconds: 50 ms to 5 s, doubled each
    time, with jitter, so that the workers of a restarted server do not return all at once."""

    _FIRST = 0.05
    _MOST = 5.0

    def __init__(self) -> None:
        self._next = self._FIRST

    def reset(self) -> None:
        """After a connection that worked."""
        self._next = self._FIRST

    def next(self) -> float:
        """The next delay."""
        delay, self._next = self._next, min(2 * self._next, self._MOST)
        return delay * random.uniform(0.5, 1)


def hello_of(
    queue: str,
    name: str,
    capacity: int,
    create: bool,
    silence_limit: Optional[_types.Duration],
    key_limit: Optional[_types.Duration],
) -> work_pb2.Hello:
    """The first message of a worker."""
    return work_pb2.Hello(
        queue=queue,
        name=name,
        capacity=capacity,
        create=create,
        tells_starts=True,
        silence_limit_us=_types.microseconds("silence_limit", silence_limit or 0),
        key_limit_us=_types.microseconds("key_limit", key_limit or 0),
    )


def checked(outcome: object) -> object:
    """What a handler returned. Raises TypeError if that is neither None nor an Outcome."""
    if outcome is not None and not isinstance(outcome, outcomes.Outcome):
        raise TypeError(f"a handler returns None or a wq.Outcome, not {outcome!r}")
    return outcome
