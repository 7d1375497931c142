"""The synchronous client, and the calls of both clients."""

from __future__ import annotations

import os
import queue as queues
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterator,
    List,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

import grpc

from wq import _address, _fork, _types, errors
from wq._state import J, Stats, hello_of
from wq._stream import Job, WorkStream
from wq._types import (
    AddResult,
    ChangeResult,
    Counts,
    ListedKey,
    Snapshot,
    StoreInfo,
    WorkerInfo,
)
from wq._worker import AnyHandler, Definition, Worker
from wq.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    browse_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    work_pb2,
    work_pb2_grpc,
)

T = TypeVar("T")

# Python runs the handler of a signal in the main thread only, and a signal does not interrupt the
# main thread if another one takes it, or if it comes right before the main thread begins to wait.
_SIGNAL_SECONDS = 0.5


def default_name() -> str:
    """A worker's name unless one is given: PROGRAM@HOST:PID."""
    program = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    return f"{program}@{socket.gethostname()}:{os.getpid()}"[:256]


def _nothing(response: Any) -> None:
    """Converts the response of a call that returns nothing."""


class Connection:
    """What the clients share: the channel, and the definitions of workers."""

    def __init__(
        self,
        address: _address.PathLike,
        *,
        token: Optional[str] = None,
        token_file: Optional[_address.PathLike] = None,
        tls_ca: Optional[_address.PathLike] = None,
        tls_cert: Optional[_address.PathLike] = None,
        tls_key: Optional[_address.PathLike] = None,
        timeout: Optional[_types.Duration] = None,
    ) -> None:
        self._timeout = _types.seconds("timeout", timeout)
        _fork.use()
        self._address = _address.resolve(address, token, token_file, tls_ca, tls_cert, tls_key)
        if self._address.credentials is None:
            channel = grpc.insecure_channel(self._address.target, self._address.options)
        else:
            channel = grpc.secure_channel(
                self._address.target, self._address.credentials, self._address.options
            )
        self._channel: Any = channel
        self._queue: Any = queue_pb2_grpc.QueueStub(channel)
        self._work: Any = work_pb2_grpc.WorkStub(channel)
        self._admin: Any = admin_pb2_grpc.AdminStub(channel)
        self._browse: Any = browse_pb2_grpc.BrowseStub(channel)
        self._definitions: List[Definition] = []
        # What `run` waits for: a signal's number, a worker that has ended, or None from `stop`.
        self._events: Any = self._make_events()

    def _make_events(self) -> Any:
        raise NotImplementedError

    def _open_work(self, requests: Any) -> Any:
        return self._work.Work(requests, metadata=self._address.metadata())

    def _define(self, hello: work_pb2.Hello, concurrency: int) -> Callable[[Any], Any]:
        def define(handler: Any) -> Any:
            self._definitions.append(Definition(hello, handler, concurrency, Stats()))
            return handler

        return define

    def stats(self) -> Dict[str, Stats]:
        """The totals of the workers, by queue; of the last one if a queue has several."""
        return {definition.hello.queue: definition.stats for definition in self._definitions}


class Client(Connection):
    """A client of a wq server, for all its queues. Thread-safe.

    `address` is a store's directory (its server listens at DIR/control.sock), "unix:PATH" or
    "HOST:PORT". Over TCP, `token` or `token_file` is sent as a bearer token; `tls_ca` is the file
    of the certificates to trust, `tls_cert` and `tls_key` are the client's own.

    Each call raises wq.Error. Each blocks until the server has answered, at most `timeout` seconds
    (None: no limit; after it TimedOut). No call is repeated: after Unavailable the outcome is
    unknown. The constructor does not connect.

    Every duration is seconds or a timedelta, and cut to 100 years. One that is negative, NaN or
    infinite is InvalidArgument.

    gRPC does not work in a forked child of a process that has it in use. So once a process has made
    a client, all calls, and new clients, in its forked children raise NotSupported; closing does
    nothing there. Fork before the first client is made, or start children with subprocess or
    multiprocessing's "spawn". A handler may fork if the child ends with os._exit (or exec); a child
    that comes back from the handler is ended with status 1 and a message.
    """

    def _make_events(self) -> "queues.SimpleQueue[Union[int, Worker, None]]":
        return queues.SimpleQueue()

    def close(self) -> None:
        """Closes the connection. Calls under way fail with Unavailable."""
        if _fork.forked():
            return  # The connection is the parent's.
        self._channel.close()
        self._address.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # The methods with a call return what this returns: that of wq.aio returns a coroutine.
    def _call(self, method: Any, request: Any, convert: Callable[[Any], T]) -> T:
        _fork.check()
        try:
            response = method(request, timeout=self._timeout, metadata=self._address.metadata())
        except grpc.RpcError as error:
            raise errors.of_rpc(error) from None
        return convert(response)

    # --- Adding and reading ---

    def add(
        self,
        queue: str,
        keys: _types.Keys,
        *,
        delay: _types.Duration = 0,
        lane: Optional[int] = None,
        group: Optional[_types.Key] = None,
        durability: Optional[str] = None,
        create: bool = False,
        reason: str = "",
        traceparent: str = "",
        delay_mode: str = "earliest",
        debounce: Optional[Tuple[_types.Duration, _types.Duration]] = None,
    ) -> AddResult:
        """Adds a key, or several in one request (at most 4 MiB).

        With a `delay` (seconds) they are due after it. `durability` is "async", "process" (survives
        a kill of the server) or "power"; None is the queue's own. `create` makes a missing queue,
        if the server permits that. `reason` and `traceparent` (W3C Trace Context) say why; the
        worker has them: see Job.causes. `delay_mode` says which end counts for a key that is
        delayed already: "earliest" or "replace" (that of this call); "resync": this call's delay
        is a resync, which replaces no other kind and is replaced by any. `debounce` is
        (quiet, max_wait) in seconds: the keys are due when no add has come for `quiet`, at the
        latest `max_wait` after the first; None is the queue's own. A key that is refused does not raise: see AddResult.refused.
        """
        values = _types.keys_list(keys)
        request = _types.add_request(
            queue, values, delay, lane, group, durability, create, reason, traceparent, delay_mode, debounce
        )
        return self._call(self._queue.Add, request, lambda r: _types.add_result(r, values))

    def remove(
        self, queue: str, keys: _types.Keys, *, durability: Optional[str] = None
    ) -> ChangeResult:
        """Removes queued keys; of keys that are processing, cancels the add since they were handed
        out."""
        return self.change(queue, "remove", keys, durability=durability)

    def counts(self, queue: str) -> Counts:
        """The counters of a queue."""
        request = queue_pb2.CountsRequest(queue=queue)
        return self._call(self._queue.Counts, request, _types.counts_of)

    def list(
        self, queue: str, *, quarantined: bool = False, limit: int = 1000
    ) -> Tuple[ListedKey, ...]:
        """The queued keys, the oldest first, or the quarantined keys by key. A call returns at most
        1000, so more are not of one instant."""
        listing = _types.Listing(queue, quarantined, limit)
        while (request := listing.request()) is not None:
            self._call(self._browse.Search, request, listing.add)
        return tuple(listing.found)

    # --- Administration ---

    def change(
        self,
        queue: str,
        kind: str,
        keys: _types.Keys,
        *,
        durability: Optional[str] = None,
        per_second: float = 0,
    ) -> ChangeResult:
        """Changes keys. `kind` is that of the methods below, or "remove"; `per_second` is of
        release."""
        values = _types.keys_list(keys)
        request = _types.change_request(queue, kind, values, durability, per_second)
        return self._call(self._admin.Change, request, lambda r: _types.change_result(r, values))

    def cancel_delay(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """Removes the delays of keys; the keys are not added."""
        return self.change(queue, "cancel_delay", keys)

    def requeue(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """Ends the delays of keys: they are due now."""
        return self.change(queue, "requeue", keys)

    def forget(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """Clears the failure counts of keys."""
        return self.change(queue, "forget", keys)

    def release(
        self, queue: str, keys: _types.Keys, *, per_second: float = 0
    ) -> ChangeResult:
        """Adds keys of the quarantine again. With `per_second` one after the other, at this rate:
        until its turn a key is delayed, also over restarts."""
        return self.change(queue, "release", keys, per_second=per_second)

    def drop(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """Removes keys from the quarantine."""
        return self.change(queue, "drop", keys)

    def delete(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """Removes all that the queue has of keys."""
        return self.change(queue, "delete", keys)

    def pause(self, queue: str, duration: Optional[_types.Duration] = None) -> None:
        """Hands out nothing until `resume`, or for a duration (seconds)."""
        request = admin_pb2.PauseRequest(queue=queue)
        if duration is not None:
            request.for_us = _types.microseconds("duration", duration)
        return self._call(self._admin.Pause, request, _nothing)

    def resume(self, queue: str) -> bool:
        """Ends a pause. Returns whether the queue was paused."""
        request = admin_pb2.ResumeRequest(queue=queue)
        return self._call(self._admin.Resume, request, lambda r: bool(r.was_paused))

    def flush(self, durability: str = "power") -> None:
        """Waits until everything that was done on the store before is as durable as asked for."""
        request = admin_pb2.FlushRequest(durability=_types.durability_value(durability))
        return self._call(self._admin.Flush, request, _nothing)

    def delete_queue(self, queue: str) -> None:
        """Deletes a queue with all that it has. The streams of its workers end."""
        request = admin_pb2.DeleteQueueRequest(queue=queue)
        return self._call(self._admin.DeleteQueue, request, _nothing)

    def snapshot(self, directory: str, name: str = "") -> Snapshot:
        """Copies the store into a directory of the server's machine, an absolute path. The name is
        the present time unless one is given."""
        request = admin_pb2.CreateSnapshotRequest(directory=directory, name=name)
        return self._call(self._admin.CreateSnapshot, request, _types.snapshot_of)

    def workers(self, queue: str = "") -> Tuple[WorkerInfo, ...]:
        """The connected workers of a queue, or of all."""
        request = admin_pb2.ListWorkersRequest(queue=queue)
        return self._call(self._admin.ListWorkers, request, _types.worker_infos)

    def store(self) -> StoreInfo:
        """The served store, with its queues."""
        return self._call(self._admin.GetStore, admin_pb2.GetStoreRequest(), _types.store_info)

    # --- Working ---

    def work(
        self,
        queue: str,
        *,
        capacity: int = 1,
        name: Optional[str] = None,
        create: bool = False,
        silence_limit: Optional[_types.Duration] = None,
        key_limit: Optional[_types.Duration] = None,
    ) -> "Session":
        """A worker whose jobs the caller iterates over and answers: see Session. `worker` is the
        simpler way. The options are those of `worker`."""
        hello = hello_of(
            queue, name or default_name(), capacity, create, silence_limit, key_limit
        )
        return Session(self._open_work, hello)

    def worker(
        self,
        queue: str,
        *,
        concurrency: int = 1,
        prefetch: int = 0,
        name: Optional[str] = None,
        create: bool = False,
        silence_limit: Optional[_types.Duration] = None,
        key_limit: Optional[_types.Duration] = None,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """A decorator: the function becomes a worker of the queue, which `run` runs.

        The handler is called with a Job by `concurrency` threads. It returns None when the key is
        done; see wq.outcomes for the other results. Any other exception is a failure of the key,
        with its text. Two handlers never run for one key at once in this process.

        `prefetch` keys are assigned ahead, which saves short handlers the wait for the next key.
        `silence_limit`: the server gives the keys of a worker that is silent for so long to others
        (None: 30 s); a third of it is the interval of the heartbeats. `key_limit`: a key that is
        not answered so long after its handler has begun is taken away, and a failure is counted;
        one whose handler has not begun so long after its assignment is given back, and nothing is
        counted.
        """
        if concurrency < 1 or prefetch < 0:
            raise errors.InvalidArgument(f"concurrency {concurrency}, prefetch {prefetch}: too few")
        hello = hello_of(
            queue, name or default_name(), concurrency + prefetch, create, silence_limit, key_limit
        )
        return self._define(hello, concurrency)

    def run(self, *, grace: _types.Duration = 30.0, signals: bool = True) -> None:
        """Runs all workers until SIGTERM, SIGINT or `stop`. Blocks.

        Then no more keys are taken. Running handlers have `grace` seconds; the keys of those that
        still run then are given back, and their jobs are lost. A second signal ends the process at
        once. Signals are only handled if this is the main thread. Without `signals` a
        KeyboardInterrupt ends it so, and is raised; a second one is raised at once.

        While the server is away the workers connect again and again. After InvalidArgument,
        NotFound (there is no such queue), NotSupported or Unauthenticated of a worker all workers
        stop, and the error is raised.
        """
        _fork.check()
        limit = _types.microseconds("grace", grace) / 1e6
        workers = [Worker(self._open_work, each, self._events.put) for each in self._definitions]
        if not workers:
            raise errors.InvalidArgument("there is no worker to run: use Client.worker")
        restore = self._handle_signals() if signals else (lambda: None)
        try:
            for worker in workers:
                worker.start()
            failed = self._wait_for_end(workers)
        finally:
            try:
                for worker in workers:
                    worker.stop()
                deadline = time.monotonic() + limit
                for worker in workers:
                    worker.join(deadline)
            finally:
                restore()
        if failed is not None:
            raise failed

    def _wait_for_end(self, workers: List[Worker]) -> Optional[errors.Error]:
        while True:
            try:
                event = self._events.get(timeout=_SIGNAL_SECONDS)
            except queues.Empty:
                continue  # A signal's handler has run by now.
            if not isinstance(event, Worker):
                return None
            if event in workers:  # And not of a former run.
                return event.error

    def stop(self) -> None:
        """Ends `run` like a first signal; also the next `run`, if none is under way. Thread-safe;
        may be called by a handler or a signal handler."""
        self._events.put(None)

    def _handle_signals(self) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        before: Dict[int, Any] = {}

        def handle(number: int, frame: Optional[FrameType]) -> None:
            # The next signal ends the process. SimpleQueue.put may be called by signal handlers.
            for each in before:
                signal.signal(each, signal.SIG_DFL)
            self._events.put(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, handle)

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        return restore


class SessionBase(Generic[J]):
    """A Work stream, and the thread that reads it. `put` is called with each job; then with why the
    stream has broken, or with None after `close`. `alive`: see WorkStream."""

    def __init__(
        self,
        open_call: Callable[[Any], Any],
        hello: work_pb2.Hello,
        stats: Stats,
        make_job: Callable[[work_pb2.Assignment, Any], J],
        put: Callable[[Any], object],
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.stats = stats
        self._put = put
        self._closed = False
        self.stream: WorkStream[J] = WorkStream(open_call, hello, stats, make_job, alive)
        self._reader = threading.Thread(target=self._read, name=f"wq-{hello.queue}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        def assigned(jobs: List[J]) -> None:
            for job in jobs:
                self._put(job)

        error = self.stream.read(assigned)
        self._put(None if self._closed else error)

    def set_capacity(self, capacity: int) -> None:
        """Changes how many keys are assigned at once; 0: no more."""
        self.stream.set_capacity(capacity)

    def close(self) -> None:
        """Sends the answers, and gives back the other keys. Blocks: at most 10 s."""
        if _fork.forked():
            return  # The stream is the parent's.
        self._closed = True
        self.stream.finish()
        self._reader.join()


class Session(SessionBase[Job]):
    """One Work stream: `for job in session`, and each job is answered: job.done(), failed(error),
    requeue_after(seconds) or give_back(). At the end of the `with` the keys that are not answered
    are given back.

    The iteration blocks for the next key. It ends after `close`, and raises an Error when the
    stream breaks: the keys were given back, and a new session begins anew. A session does not keep
    a job waiting whose key another thread of this process still works on.
    """

    def __init__(self, open_call: Callable[[Any], Any], hello: work_pb2.Hello) -> None:
        self._jobs: "queues.SimpleQueue[Union[Job, errors.Error, None]]" = queues.SimpleQueue()
        super().__init__(open_call, hello, Stats(), Job, self._jobs.put)

    def __iter__(self) -> Iterator[Job]:
        while True:
            _fork.check()
            item = self._jobs.get()
            if isinstance(item, Job):
                if self.stream.start(item):
                    yield item
                continue
            self._jobs.put(item)  # For another iteration.
            if item is not None:
                raise item
            return

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
