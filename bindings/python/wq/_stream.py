"""A Work stream, and the jobs of wq.Client."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from typing import Any, Callable, Generic, Iterator, List, Optional, TypeVar

import grpc

from wq import _fork, _types, errors, outcomes
from wq._state import FINISH, STOPPED, J, JobBase, Reply, Stats, StreamState
from wq.v1 import work_pb2

T = TypeVar("T")


class Job(JobBase):
    """An assigned key. Thread-safe: a handler's other threads may use it, too."""

    __slots__ = ("_event",)

    def __init__(self, assignment: work_pb2.Assignment, stream: "WorkStream[Any]") -> None:
        super().__init__(assignment, stream)
        self._event: Optional[threading.Event] = None

    def wait_lost(self, timeout: Optional[_types.Duration] = None) -> bool:
        """Waits until the key is taken away. Returns `lost`. Blocks: at most `timeout` seconds.

        A handler that waits between its steps waits here.
        """
        _fork.check()
        limit = _types.seconds("timeout", timeout)
        with self._stream.lock:
            if self._event is None:
                self._event = threading.Event()
            if self.lost:
                self._event.set()
        self._event.wait(limit)
        return self.lost

    def _note_lost(self) -> None:
        if self._event is not None:
            self._event.set()

    # The answers return what this returns: that of wq.aio returns a coroutine.
    def _wait(self, waiter: Optional["concurrent.futures.Future[T]"]) -> T:
        return waiter.result() if waiter is not None else None  # type: ignore[return-value]

    def added_again(self) -> bool:
        """Whether the key was added again since it was assigned, or was taken away: the work is
        stale, and the key will be handed out again. Blocks: for a round trip to the server."""
        return self._wait(self._stream.added_again(self))

    def done(self, *, wait: bool = False, durability: Optional[str] = None) -> Optional[Reply]:
        """Answers: the key is done, and its failures are forgotten.

        A handler answers by its end instead. The answer is sent in the background; with `wait` the
        call returns its Reply. Blocks: only with `wait`. Errors with `wait`: NotProcessing (the key
        was taken away), NotDurable, Unavailable (the outcome is unknown). Without `wait` these are
        logged. An answer after the first, or for a lost stream, is NotProcessing.
        """
        return self._wait(self._stream.answer(self, None, wait, durability))

    def failed(
        self,
        error: object,
        *,
        quarantine: bool = False,
        wait: bool = False,
        durability: Optional[str] = None,
    ) -> Optional[Reply]:
        """Answers: a failure is counted, and the key is added again after its queue's backoff; with
        `quarantine` it goes to quarantine. Otherwise like `done`."""
        text = outcomes.error_text(error)
        outcome = outcomes.Quarantine(text) if quarantine else text
        return self._wait(self._stream.answer(self, outcome, wait, durability))

    def requeue_after(
        self, delay: _types.Duration, *, wait: bool = False, durability: Optional[str] = None
    ) -> Optional[Reply]:
        """Answers: the key is added again after the delay. Otherwise like `done`."""
        outcome = outcomes.RequeueAfter(delay)
        return self._wait(self._stream.answer(self, outcome, wait, durability))

    def give_back(self, *, wait: bool = False, durability: Optional[str] = None) -> Optional[Reply]:
        """Answers: the key is queued again, first in its lane. Otherwise like `done`."""
        return self._wait(self._stream.answer(self, outcomes.GiveBack(), wait, durability))


def _waiter() -> "concurrent.futures.Future[Any]":
    """A future that its waiter cannot cancel."""
    waiter: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
    waiter.set_running_or_notify_cancel()
    return waiter


class WorkStream(Generic[J]):
    """One Work stream. Thread-safe. gRPC's own thread sends what has accumulated, and heartbeats;
    the thread that calls `read` receives."""

    def __init__(
        self,
        open_call: Callable[[Iterator[Any]], Any],
        hello: work_pb2.Hello,
        stats: Stats,
        make_job: Callable[[work_pb2.Assignment, Any], J],
        alive: Callable[[], bool],
    ) -> None:
        """`open_call` is the stub's Work; `make_job` is given an assignment and this stream.
        `alive` is whether somebody can answer the keys; if not, the stream ends once it has some.
        """
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self._make_job = make_job
        self._alive = alive
        self._state: StreamState[J] = StreamState(hello, stats)
        self._finishing = False  # `finish` waits for results.
        self._closing = False  # The writer ends when it has sent everything.
        self._untimed = False  # The writer waits without a heartbeat.
        self._sent_at = time.monotonic()
        self.ended = False
        _fork.check()
        self._call = open_call(self._requests())

    # --- The writer ---

    def _requests(self) -> Iterator[work_pb2.WorkRequest]:
        while True:
            with self.lock:
                request = self._next()
            if request is None:
                return
            yield request

    def _next(self) -> Optional[work_pb2.WorkRequest]:
        """Waits for something to send. None: the stream is to be ended by this side."""
        while not self._state.pending:
            if self._closing:
                return None
            left = self._sent_at + self._state.beat - time.monotonic()
            if left <= 0 and self._state.held:
                if self._alive():
                    break
                self._leave()
                continue
            # An idle worker sends nothing. The wait without a limit begins only after a beat
            # without keys, so that a busy worker, which holds no key for instants, need not be
            # woken for its next key.
            self._untimed = left <= 0
            self._changed.wait(None if self._untimed else left)
            self._untimed = False
        self._sent_at = time.monotonic()
        if self._finishing:
            self._changed.notify_all()
        return self._state.take()

    def answer(
        self, job: J, outcome: object, wait: bool = False, durability: Optional[str] = None
    ) -> Optional["concurrent.futures.Future[Reply]"]:
        """Sends an answer. See JobBase.done. Returns the Reply's future if `wait` is set."""
        _fork.check()
        value = _types.durability_value(durability)
        waiter = _waiter() if wait else None
        with self.lock:
            if not self._state.answer(job, outcome, waiter, value):
                raise errors.NotProcessing(job.lost_reason or f"{job!r} is answered already")
            self._changed.notify_all()
        return waiter

    def added_again(self, job: J) -> "concurrent.futures.Future[bool]":
        """See JobBase.added_again."""
        _fork.check()
        waiter = _waiter()
        with self.lock:
            if job.lost or self.ended:
                waiter.set_result(True)
            else:
                self._state.ask_added_again(job, waiter)
                self._changed.notify_all()
        return waiter

    def set_capacity(self, capacity: int) -> None:
        """Changes how many keys are assigned at once."""
        _fork.check()
        with self.lock:
            self._state.set_capacity(capacity)
            self._changed.notify_all()

    # --- Jobs ---

    def start(self, job: J) -> bool:
        """Before a handler begins. False: the key is no longer this worker's."""
        with self.lock:
            if job._answered or job.lost or self.ended:
                return False
            self._state.start(job)
            self._changed.notify_all()
            return True

    def give_back(self, *, started: bool, reason: str = "") -> None:
        """Gives back the keys whose handlers have not begun; with `started` all keys. Those of
        running handlers are lost then, with this reason."""
        with self.lock:
            self._give_back(started, reason)

    def _give_back(self, started: bool, reason: str) -> None:
        """Under the lock."""
        for job in reversed(list(self._state.held.values())):  # Each is then the first.
            if job._started and not started:
                continue
            self._state.answer(job, outcomes.GiveBack(), None, 0)
            if job._started:
                job._lost = reason
                job._note_lost()
        self._changed.notify_all()

    # --- The reader ---

    @property
    def welcomed(self) -> bool:
        """Whether the server has accepted this worker."""
        return self._state.welcomed

    @property
    def store_uuid(self) -> str:
        """Of the server's store; "" before the first key."""
        return self._state.store_uuid

    def read(self, assigned: Callable[[List[J]], None]) -> errors.Error:
        """Calls `assigned` with the keys as they come, until the stream ends. Returns why.

        Lost keys whose handlers have not begun are answered here. Blocks.
        """
        error: errors.Error = errors.Unavailable("the server ended the stream")
        try:
            for response in self._call:
                jobs = self._receive(response)
                if jobs:
                    assigned(jobs)
                    if not self._alive():
                        with self.lock:
                            self._leave()
        except grpc.RpcError as failure:
            error = errors.of_rpc(failure)
        finally:
            with self.lock:
                self.ended = True
                self._closing = True
                self._state.end(f"the stream ended: {error.message}")
                self._changed.notify_all()
        return error

    def _receive(self, response: work_pb2.WorkResponse) -> List[J]:
        jobs = [self._make_job(assignment, self) for assignment in response.assignments]
        with self.lock:
            lost = self._state.receive(response)
            for job in lost:
                if not job._started:
                    self._state.answer(job, outcomes.GiveBack(), None, 0)
            for job in jobs:
                self._state.assign(job)
            welcome = response.HasField("welcome")  # With the interval of the heartbeats.
            if lost or welcome or self._finishing or (jobs and self._untimed):
                self._changed.notify_all()
        return jobs

    # --- The end ---

    def _leave(self) -> None:
        """Gives back what is held; the writer ends when that is sent. Under the lock."""
        self._state.set_capacity(0)
        self._give_back(True, STOPPED)
        self._closing = True

    def finish(self, limit: float = FINISH) -> None:
        """Takes no more keys, gives back what is held, waits for the results, and ends the stream.
        Another thread must be in `read`. Blocks: at most twice `limit` seconds."""
        self.set_capacity(0)
        self.give_back(started=True, reason=STOPPED)
        with self.lock:
            self._finishing = True
            self._changed.wait_for(
                lambda: self.ended or not (self._state.pending or self._state.unconfirmed), limit
            )
            self._closing = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.ended, limit)
        self._call.cancel()
