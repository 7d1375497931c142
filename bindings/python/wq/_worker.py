"""A worker of a queue: a Work stream that is opened again when it breaks, and threads that call the
handler.
"""

from __future__ import annotations

import functools
import queue
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Generic, List, Optional, Set, TypeVar, Union

from wq import _fork, errors, outcomes
from wq._state import FINISH, KEYS_IN_USE, Backoff, J, Stats, checked, log
from wq._stream import Job, WorkStream
from wq.v1 import work_pb2

Handler = Callable[[Job], Union[None, outcomes.Outcome]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


@dataclass
class Definition:
    """What a worker is defined by, for each run of it."""

    hello: work_pb2.Hello  # With a capacity of the concurrency plus the keys assigned ahead.
    handler: Any
    concurrency: int
    stats: Stats


class Receiver(Generic[J]):
    """The part of a worker's run that keeps a stream open and receives its keys, in a thread of its
    own, which is a daemon. Thread-safe."""

    def __init__(
        self,
        open_call: Callable[[Any], Any],
        definition: Definition,
        ended: Callable[[Any], object],
        make_job: Callable[[work_pb2.Assignment, Any], J],
    ) -> None:
        """`ended` is called with this object."""
        self._open_call = open_call
        self._hello = definition.hello
        self._handler = definition.handler
        self._concurrency = definition.concurrency
        self._stats = definition.stats
        self._ended = ended
        self._make_job = make_job
        self.error: Optional[errors.Error] = None  # Why it has ended.
        self._stopping = threading.Event()
        self._lock = threading.Lock()  # Before that of a stream.
        self._changed = threading.Condition(self._lock)
        self._stream: Optional[WorkStream[J]] = None
        self._running: Set[J] = set()
        self._receiver = self._thread(self._receive, "receive")

    def _thread(self, body: Callable[[], None], what: str) -> threading.Thread:
        name = f"wq-{self._hello.queue}-{what}"
        return threading.Thread(target=body, name=name, daemon=True)

    def _are_ready(self, jobs: List[J]) -> None:
        """The keys of the jobs are this worker's: their handlers may begin. On any thread."""
        raise NotImplementedError

    def _alive(self) -> bool:
        """Whether handlers can run. On any thread."""
        return True

    def start(self) -> None:
        """Begins."""
        self._receiver.start()

    def stop(self) -> None:
        """Takes no more keys, and gives back those whose handlers have not begun."""
        self._stopping.set()
        with self._lock:
            self._changed.notify_all()
            if self._stream is not None:
                self._stream.set_capacity(0)
                self._stream.give_back(started=False)

    def _finish(self, limit: float = FINISH) -> None:
        """After `stop`: gives back all keys, and ends. Blocks: twice `limit` seconds for the last
        answers."""
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream.finish(limit)
        if self._receiver.is_alive():  # There may have been no room for its thread.
            self._receiver.join()

    def _receive(self) -> None:
        try:
            self._receive_until_stopped()
        except errors.Error as error:  # The file of the token is not readable.
            self.error = error
        except Exception as error:  # The client was closed.
            self.error = errors.Error(f"the worker has ended: {error}")
        self._ended(self)

    def _receive_until_stopped(self) -> None:
        backoff = Backoff()
        while (stream := self._connect()) is not None:
            error = stream.read(functools.partial(self._assigned, stream))
            if stream.welcomed:
                backoff.reset()
            if self._stopping.is_set() or not self._alive():
                break
            if isinstance(error, errors.PERMANENT):
                self.error = error
                break
            delay = backoff.next()
            log.warning(
                "wq: queue %s: the worker is cut off, and connects again in %.2f s: %s: %s",
                self._hello.queue, delay, error.code, error.message,
            )  # fmt: skip
            self._stopping.wait(delay)

    def _places(self) -> int:
        """How many handlers of former streams are not running."""
        return self._concurrency - sum(job._stream is not self._stream for job in self._running)

    def _connect(self) -> Optional[WorkStream[J]]:
        """Opens a stream, with a capacity without the handlers that still run. (The server refuses
        a capacity of 0, so while all places are taken there is no stream.)"""
        with self._lock:
            self._stream = None
            self._changed.wait_for(lambda: self._places() > 0 or self._stopping.is_set())
            if self._stopping.is_set():
                return None
            hello = work_pb2.Hello()
            hello.CopyFrom(self._hello)
            hello.capacity -= self._concurrency - self._places()
            self._stats.connects += 1
            self._stream = WorkStream(
                self._open_call, hello, self._stats, self._make_job, self._alive
            )
            return self._stream

    def _assigned(self, stream: WorkStream[J], jobs: List[J]) -> None:
        if self._stopping.is_set():
            stream.give_back(started=False)
            return
        self._are_ready([job for job in jobs if self._acquire(job)])

    def _acquire(self, job: J) -> bool:
        later = functools.partial(self._are_ready, [job])
        return KEYS_IN_USE.acquire(self._place(job), later)

    def _place(self, job: J) -> Any:
        return (job._stream.store_uuid, self._hello.queue, job.key)

    def _release(self, job: J) -> None:
        KEYS_IN_USE.release(self._place(job))

    def _begin(self, job: J) -> bool:
        """Before the handler begins. False: the key is no longer this worker's."""
        with self._lock:
            if not job._stream.start(job):
                return False
            self._running.add(job)
            return True

    def _answer(self, job: J, outcome: object) -> None:
        try:
            job._stream.answer(job, outcome)
        except errors.NotProcessing:
            log.debug("wq: queue %s: %r: the answer is dropped", self._hello.queue, job)

    def _run_ended(self, job: J) -> None:
        with self._lock:
            self._running.discard(job)
            stream = self._stream
            if stream is not None and job._stream is not stream and not self._stopping.is_set():
                taken = self._concurrency - self._places()
                stream.set_capacity(self._hello.capacity - taken)
            self._changed.notify_all()

    def _outcome(self, job: J, error: BaseException) -> object:
        """The outcome of a handler that has raised."""
        if not isinstance(error, outcomes.Outcome) and not job._answered:
            log.warning("wq: queue %s: %r failed", self._hello.queue, job, exc_info=True)
        return error


class Worker(Receiver[Job]):
    """One run of a worker. Thread-safe.

    Threads: one receives; `concurrency` call the handler; gRPC's sends. All are daemons, so that a
    process can end while a handler runs.
    """

    def __init__(
        self,
        open_call: Callable[[Any], Any],
        definition: Definition,
        ended: Callable[["Worker"], object],
    ) -> None:
        super().__init__(open_call, definition, ended, Job)
        self._closed = False  # The handlers' threads end when they have taken what is in _ready.
        self._ready: "queue.SimpleQueue[Optional[Job]]" = queue.SimpleQueue()
        self._handlers = [self._thread(self._handle, str(n)) for n in range(self._concurrency)]

    def start(self) -> None:
        """Begins."""
        super().start()
        for thread in self._handlers:
            thread.start()

    def join(self, deadline: float) -> None:
        """After `stop`: waits for the running handlers until `deadline` (time.monotonic), gives the
        other keys back, and ends. Blocks: until the deadline, and 10 s for the last answers."""
        with self._lock:
            while self._running and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
        self._finish()
        with self._lock:
            self._closed = True
            for _ in self._handlers:
                self._ready.put(None)

    def _are_ready(self, jobs: List[Job]) -> None:
        with self._lock:
            closed = self._closed
            for job in jobs if not closed else ():
                self._ready.put(job)
        for job in jobs if closed else ():  # The worker ended while the job waited.
            self._release(job)

    def _handle(self) -> None:
        while (job := self._ready.get()) is not None:
            try:
                if self._begin(job):
                    self._run(job)
            finally:
                self._release(job)

    def _run(self, job: Job) -> None:
        try:
            outcome = checked(self._handler(job))
        except BaseException as error:  # Also SystemExit, which would end only this thread.
            outcome = self._outcome(job, error)
        _fork.leave()
        self._answer(job, outcome)
        self._run_ended(job)
