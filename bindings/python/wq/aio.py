"""The client for asyncio: wq.Client with coroutines and asynchronous iterators.

    async with wq.aio.Client("/var/lib/pods.wq") as client:

        @client.worker("pods", concurrency=100)
        async def reconcile(job):
            await asyncio.sleep(1)

        await client.run()

A client belongs to one event loop. Unless said otherwise, the methods, options, results and errors
are those of wq.Client; instead of blocking, they await.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    List,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

import grpc
import grpc.aio

from wq import _address, _fork, _types, errors, outcomes
from wq._client import default_name
from wq._state import (
    FINISH,
    KEYS_IN_USE,
    STOPPED,
    Backoff,
    JobBase,
    Reply,
    Stats,
    StreamState,
    checked,
    hello_of,
    log,
)
from wq._types import (
    AddResult,
    ChangeResult,
    Counts,
    ListedKey,
    Snapshot,
    StoreInfo,
    WorkerInfo,
)
from wq.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    browse_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    work_pb2,
    work_pb2_grpc,
)

__all__ = ["Client", "Handler", "Job", "Session"]


class Job(JobBase):
    """An assigned key. Its methods are for the client's event loop only."""

    __slots__ = ("_stream", "_task")

    def __init__(self, assignment: work_pb2.Assignment, stream: "_Stream") -> None:
        super().__init__(assignment)
        self._stream = stream
        self._task: Optional["asyncio.Task[None]"] = None

    async def added_again(self) -> bool:
        """Whether the key was added again since it was assigned, or was taken away: the work is
        stale, and the key will be handed out again. Awaits a round trip to the server."""
        return await self._stream.added_again(self)

    async def done(
        self, *, wait: bool = False, durability: Optional[str] = None
    ) -> Optional[Reply]:
        """Like wq.Job.done; awaits the result only with `wait`."""
        return await self._stream.answer(self, None, wait, durability)

    async def failed(
        self,
        error: object,
        *,
        quarantine: bool = False,
        wait: bool = False,
        durability: Optional[str] = None,
    ) -> Optional[Reply]:
        """Like wq.Job.failed."""
        text = outcomes.error_text(error)
        outcome = outcomes.Quarantine(text) if quarantine else text
        return await self._stream.answer(self, outcome, wait, durability)

    async def requeue_after(
        self, delay: _types.Duration, *, wait: bool = False, durability: Optional[str] = None
    ) -> Optional[Reply]:
        """Like wq.Job.requeue_after."""
        return await self._stream.answer(self, outcomes.RequeueAfter(delay), wait, durability)

    async def give_back(
        self, *, wait: bool = False, durability: Optional[str] = None
    ) -> Optional[Reply]:
        """Like wq.Job.give_back."""
        return await self._stream.answer(self, outcomes.GiveBack(), wait, durability)


Handler = Callable[[Job], Awaitable[Union[None, outcomes.Outcome]]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


class _Stream:
    """One Work stream, on one event loop."""

    def __init__(self, open_call: Callable[[], Any], hello: work_pb2.Hello, stats: Stats) -> None:
        self.state: StreamState[Job] = StreamState(hello, stats)
        self.ended = asyncio.Event()
        self._closing = False  # The writer ends when it has sent everything.
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()  # All is sent, and every answer has its result.
        _fork.check()
        _fork.use_loop(asyncio.get_running_loop())
        self._call = open_call()

    # --- The writer ---

    async def _write(self) -> None:
        """Sends what has accumulated, and heartbeats, until the stream ends."""
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        timer = loop.call_at(sent_at, self._wake.set)
        try:
            while True:
                due = sent_at + self.state.beat
                if self.state.pending or (self.state.held and due <= loop.time()):
                    _fork.leave()
                    sent_at = loop.time()
                    await self._call.write(self.state.take())
                    self._note_idle()
                    continue
                if self._closing:
                    await self._call.done_writing()
                    return
                # An idle worker sends nothing; its next key begins the timer again.
                if self.state.held and not loop.time() < timer.when() <= due:
                    timer.cancel()
                    timer = loop.call_at(due, self._wake.set)
                self._wake.clear()
                await self._wake.wait()
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass  # `read` reports why the stream has ended.
        finally:
            timer.cancel()

    async def answer(
        self, job: Job, outcome: object, wait: bool = False, durability: Optional[str] = None
    ) -> Optional[Reply]:
        """Sends an answer."""
        _fork.check()
        value = _types.durability_value(durability)
        waiter: Optional["asyncio.Future[Reply]"] = None
        if wait:
            waiter = asyncio.get_running_loop().create_future()
        self.answer_now(job, outcome, waiter, value)
        return await waiter if waiter is not None else None

    def answer_now(
        self, job: Job, outcome: object, waiter: Any = None, durability: Any = 0
    ) -> None:
        """Queues an answer. Raises NotProcessing if the job was answered, or is of a former
        stream."""
        if not self.state.answer(job, outcome, waiter, durability):
            raise errors.NotProcessing(job.lost_reason or f"{job!r} is answered already")
        self._wake.set()

    async def added_again(self, job: Job) -> bool:
        """See Job.added_again."""
        _fork.check()
        if job.lost or self.ended.is_set():
            return True
        waiter: "asyncio.Future[bool]" = asyncio.get_running_loop().create_future()
        self.state.ask_added_again(job, waiter)
        self._wake.set()
        return await waiter

    def set_capacity(self, capacity: int) -> None:
        """Changes how many keys are assigned at once."""
        self.state.set_capacity(capacity)
        self._wake.set()

    def start(self, job: Job) -> bool:
        """Before a handler begins. False: the key is no longer this worker's."""
        if job._answered or job.lost or self.ended.is_set():
            return False
        self.state.start(job)
        self._wake.set()
        return True

    def give_back(self, *, started: bool, reason: str = "") -> None:
        """Gives back the keys whose handlers have not begun; with `started` all keys. Running
        handlers are cancelled then."""
        for job in reversed(list(self.state.held.values())):  # Each is then the first.
            if job._started and not started:
                continue
            self.state.answer(job, outcomes.GiveBack(), None, 0)
            if job._started:
                job._lost = reason
                if job._task is not None:
                    job._task.cancel()
        self._wake.set()

    # --- The reader ---

    async def read(self, assigned: Callable[[List[Job]], None]) -> errors.Error:
        """Calls `assigned` with the keys as they come, until the stream ends. Returns why. The
        handlers of lost keys are cancelled."""
        error: errors.Error = errors.Unavailable("the server ended the stream")
        writer = asyncio.ensure_future(self._write())
        try:
            async for response in self._call:
                jobs = self._receive(response)
                if jobs:
                    assigned(jobs)
        except grpc.aio.AioRpcError as failure:
            error = errors.of_rpc(failure)
        except asyncio.CancelledError:
            # gRPC cancels the call of a cancelled task, too.
            self._call.cancel()
        finally:
            self._cancel_lost(self.state.end(f"the stream ended: {error.message}"))
            self._closing = True
            self.ended.set()
            self._idle.set()
            writer.cancel()
        return error

    def _receive(self, response: work_pb2.WorkResponse) -> List[Job]:
        lost = self.state.receive(response)
        self._cancel_lost(lost)
        for job in lost:
            if not job._started:
                self.answer_now(job, outcomes.GiveBack())
        idle = not self.state.held
        jobs = [Job(assignment, self) for assignment in response.assignments]
        for job in jobs:
            self.state.assign(job)
        if (jobs and idle) or response.HasField("welcome"):
            self._wake.set()  # For the heartbeat's timer.
        self._note_idle()
        return jobs

    def _note_idle(self) -> None:
        if not self.state.pending and not self.state.unconfirmed:
            self._idle.set()

    def _cancel_lost(self, lost: List[Job]) -> None:
        for job in lost:
            if job._task is not None:
                job._task.cancel()

    # --- The end ---

    async def finish(self) -> None:
        """Takes no more keys, gives back what is held, waits for the results, and ends the stream.
        Another task must be in `read`. At most 10 s."""
        if self.ended.is_set():
            return
        self.set_capacity(0)
        self.give_back(started=True, reason=STOPPED)
        if self.state.pending or self.state.unconfirmed:
            self._idle.clear()
            await _wait(self._idle)
        self._closing = True
        self._wake.set()
        await _wait(self.ended)
        self._call.cancel()


async def _wait(event: asyncio.Event) -> None:
    """Waits for the event, but not without a limit."""
    try:
        await asyncio.wait_for(event.wait(), FINISH)
    except asyncio.TimeoutError:
        log.warning("wq: the server has not ended the worker in %.0f s", FINISH)


class _Worker:
    """One run of a worker: a stream that is opened again when it breaks, and a task for each
    handler."""

    def __init__(
        self,
        open_call: Callable[[], Any],
        hello: work_pb2.Hello,
        handler: Handler,
        stats: Stats,
        ended: Callable[["_Worker"], None],
    ) -> None:
        self._open_call = open_call
        self._hello = hello
        self._handler = handler
        self._stats = stats
        self._ended = ended
        self.error: Optional[errors.Error] = None  # Why it has ended.
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._stream: Optional[_Stream] = None
        self._running: Dict[Job, "asyncio.Task[None]"] = {}
        self._place_free = asyncio.Event()
        self._receiver = asyncio.ensure_future(self._receive())

    def stop(self) -> None:
        """Takes no more keys, and gives back those whose handlers have not begun."""
        self._stopping.set()
        self._place_free.set()
        if self._stream is not None:
            self._stream.set_capacity(0)
            self._stream.give_back(started=False)

    async def join(self, deadline: float) -> None:
        """After `stop`: waits for the running handlers until `deadline` (the loop's time), cancels
        the others and gives their keys back, and ends. Handlers that catch their cancellation are
        waited for."""
        if self._running:
            left = max(deadline - self._loop.time(), 0)
            await asyncio.wait(list(self._running.values()), timeout=left)
        for task in self._running.values():
            task.cancel()
        if self._stream is not None:
            await self._stream.finish()
        await self._receiver
        if self._running:
            await asyncio.wait(list(self._running.values()))

    async def kill(self) -> None:
        """Ends without grace."""
        self._stopping.set()
        self._receiver.cancel()
        for task in self._running.values():
            task.cancel()
        await asyncio.wait([self._receiver, *self._running.values()])

    async def _receive(self) -> None:
        try:
            await self._receive_until_stopped()
        except errors.Error as error:  # The file of the token is not readable.
            self.error = error
        except Exception as error:  # The client was closed.
            self.error = errors.Error(f"the worker has ended: {error}")
        self._ended(self)

    async def _receive_until_stopped(self) -> None:
        backoff = Backoff()
        while (stream := await self._connect()) is not None:
            error = await stream.read(self._assigned)
            if stream.state.welcomed:
                backoff.reset()
            if self._stopping.is_set():
                break
            if isinstance(error, errors.PERMANENT):
                self.error = error
                break
            delay = backoff.next()
            log.warning(
                "wq: queue %s: the worker is cut off, and connects again in %.2f s: %s: %s",
                self._hello.queue, delay, error.code, error.message,
            )  # fmt: skip
            try:
                await asyncio.wait_for(self._stopping.wait(), delay)
            except asyncio.TimeoutError:
                pass

    def _places(self) -> int:
        """How many handlers of former streams are not running."""
        return self._hello.capacity - sum(job._stream is not self._stream for job in self._running)

    async def _connect(self) -> Optional[_Stream]:
        self._stream = None
        while self._places() <= 0 and not self._stopping.is_set():
            self._place_free.clear()
            await self._place_free.wait()
        if self._stopping.is_set():
            return None
        hello = work_pb2.Hello()
        hello.CopyFrom(self._hello)
        hello.capacity = self._places()
        self._stats.connects += 1
        self._stream = _Stream(self._open_call, hello, self._stats)
        return self._stream

    def _assigned(self, jobs: List[Job]) -> None:
        for job in jobs:
            if self._stopping.is_set():
                job._stream.answer_now(job, outcomes.GiveBack())
            elif KEYS_IN_USE.acquire(self._place(job), functools.partial(self._ready, job)):
                self._start(job)

    def _ready(self, job: Job) -> None:
        """A former handler of the key has ended, on any thread."""
        try:
            self._loop.call_soon_threadsafe(self._start, job)
        except RuntimeError:  # The loop is closed.
            KEYS_IN_USE.release(self._place(job))

    def _place(self, job: Job) -> Any:
        return (job._stream.state.store_uuid, self._hello.queue, job.key)

    def _start(self, job: Job) -> None:
        if not job._stream.start(job):
            KEYS_IN_USE.release(self._place(job))
            return
        job._task = self._running[job] = self._loop.create_task(self._run(job))
        job._task.add_done_callback(lambda _: self._run_ended(job))

    async def _run(self, job: Job) -> None:
        outcome: object
        try:
            outcome = checked(await self._handler(job))
        except outcomes.Outcome as raised:
            outcome = raised
        except asyncio.CancelledError:
            outcome = outcomes.GiveBack()
        except Exception as error:
            if not job._answered:
                log.warning("wq: queue %s: %r failed", self._hello.queue, job, exc_info=True)
            outcome = error
        _fork.leave()
        self._answer(job, outcome)

    def _answer(self, job: Job, outcome: object) -> None:
        try:
            job._stream.answer_now(job, outcome)
        except errors.NotProcessing:
            log.debug("wq: queue %s: %r: the answer is dropped", self._hello.queue, job)

    def _run_ended(self, job: Job) -> None:
        if not job._answered:  # The task was cancelled before its first step.
            self._answer(job, outcomes.GiveBack())
        del self._running[job]
        KEYS_IN_USE.release(self._place(job))
        stream = self._stream
        if stream is not None and job._stream is not stream and not self._stopping.is_set():
            stream.set_capacity(self._places())
        self._place_free.set()


@dataclass
class _Definition:
    hello: work_pb2.Hello
    handler: Handler
    stats: Stats


class Client:
    """A client of a wq server, for all its queues: see wq.Client for the arguments.

    To be made and used on one event loop."""

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
            channel = grpc.aio.insecure_channel(self._address.target, self._address.options)
        else:
            channel = grpc.aio.secure_channel(
                self._address.target, self._address.credentials, self._address.options
            )
        self._channel: Any = channel
        self._queue: Any = queue_pb2_grpc.QueueStub(channel)
        self._work: Any = work_pb2_grpc.WorkStub(channel)
        self._admin: Any = admin_pb2_grpc.AdminStub(channel)
        self._browse: Any = browse_pb2_grpc.BrowseStub(channel)
        self._definitions: List[_Definition] = []
        # What `run` waits for: a worker that has ended, or None from `stop`.
        self._events: "asyncio.Queue[Optional[_Worker]]" = asyncio.Queue()
        self._loop: Optional[asyncio.AbstractEventLoop] = None  # Of `run`.

    async def close(self) -> None:
        """Closes the connection. Calls under way fail with Unavailable."""
        if _fork.forked():
            return  # The connection is the parent's.
        await self._channel.close()
        self._address.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _call(self, method: Any, request: Any) -> Any:
        _fork.check()
        metadata = self._address.metadata()
        try:
            return await method(request, timeout=self._timeout, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise errors.of_rpc(error) from None

    # --- Adding and reading ---

    async def add(
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
        """See wq.Client.add."""
        values = _types.keys_list(keys)
        request = _types.add_request(
            queue, values, delay, lane, group, durability, create, reason, traceparent, delay_mode, debounce
        )
        return _types.add_result(await self._call(self._queue.Add, request), values)

    async def remove(
        self, queue: str, keys: _types.Keys, *, durability: Optional[str] = None
    ) -> ChangeResult:
        """See wq.Client.remove."""
        return await self.change(queue, "remove", keys, durability=durability)

    async def counts(self, queue: str) -> Counts:
        """See wq.Client.counts."""
        request = queue_pb2.CountsRequest(queue=queue)
        return _types.counts_of(await self._call(self._queue.Counts, request))

    async def list(
        self, queue: str, *, quarantined: bool = False, limit: int = 1000
    ) -> Tuple[ListedKey, ...]:
        """See wq.Client.list."""
        listing = _types.Listing(queue, quarantined, limit)
        while (request := listing.request()) is not None:
            listing.add(await self._call(self._browse.Search, request))
        return tuple(listing.found)

    # --- Administration ---

    async def change(
        self,
        queue: str,
        kind: str,
        keys: _types.Keys,
        *,
        durability: Optional[str] = None,
        per_second: float = 0,
    ) -> ChangeResult:
        """See wq.Client.change."""
        values = _types.keys_list(keys)
        request = _types.change_request(queue, kind, values, durability, per_second)
        return _types.change_result(await self._call(self._admin.Change, request), values)

    async def cancel_delay(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """See wq.Client.cancel_delay."""
        return await self.change(queue, "cancel_delay", keys)

    async def requeue(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """See wq.Client.requeue."""
        return await self.change(queue, "requeue", keys)

    async def forget(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """See wq.Client.forget."""
        return await self.change(queue, "forget", keys)

    async def release(
        self, queue: str, keys: _types.Keys, *, per_second: float = 0
    ) -> ChangeResult:
        """See wq.Client.release."""
        return await self.change(queue, "release", keys, per_second=per_second)

    async def drop(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """See wq.Client.drop."""
        return await self.change(queue, "drop", keys)

    async def delete(self, queue: str, keys: _types.Keys) -> ChangeResult:
        """See wq.Client.delete."""
        return await self.change(queue, "delete", keys)

    async def pause(self, queue: str, duration: Optional[_types.Duration] = None) -> None:
        """See wq.Client.pause."""
        request = admin_pb2.PauseRequest(queue=queue)
        if duration is not None:
            request.for_us = _types.microseconds("duration", duration)
        await self._call(self._admin.Pause, request)

    async def resume(self, queue: str) -> bool:
        """See wq.Client.resume."""
        response = await self._call(self._admin.Resume, admin_pb2.ResumeRequest(queue=queue))
        return bool(response.was_paused)

    async def flush(self, durability: str = "power") -> None:
        """See wq.Client.flush."""
        request = admin_pb2.FlushRequest(durability=_types.durability_value(durability))
        await self._call(self._admin.Flush, request)

    async def delete_queue(self, queue: str) -> None:
        """See wq.Client.delete_queue."""
        await self._call(self._admin.DeleteQueue, admin_pb2.DeleteQueueRequest(queue=queue))

    async def snapshot(self, directory: str, name: str = "") -> Snapshot:
        """See wq.Client.snapshot."""
        request = admin_pb2.CreateSnapshotRequest(directory=directory, name=name)
        return _types.snapshot_of(await self._call(self._admin.CreateSnapshot, request))

    async def workers(self, queue: str = "") -> Tuple[WorkerInfo, ...]:
        """See wq.Client.workers."""
        request = admin_pb2.ListWorkersRequest(queue=queue)
        response = await self._call(self._admin.ListWorkers, request)
        return tuple(_types.worker_info(worker) for worker in response.workers)

    async def store(self) -> StoreInfo:
        """See wq.Client.store."""
        request = admin_pb2.GetStoreRequest()
        return _types.store_info(await self._call(self._admin.GetStore, request))

    # --- Working ---

    def _open_work(self) -> Any:
        return self._work.Work(metadata=self._address.metadata())

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
        """See wq.Client.work. To be used by `async with`."""
        name = default_name() if name is None else name
        hello = hello_of(queue, name, capacity, create, silence_limit, key_limit)
        return Session(self._open_work, hello)

    def worker(
        self,
        queue: str,
        *,
        concurrency: int = 1,
        name: Optional[str] = None,
        create: bool = False,
        silence_limit: Optional[_types.Duration] = None,
        key_limit: Optional[_types.Duration] = None,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """See wq.Client.worker. Each handler is a task, which is cancelled when its key is lost.

        A handler must not block the loop, which sends the heartbeats, too.
        """
        if concurrency < 1:
            raise errors.InvalidArgument(f"concurrency {concurrency}: must be at least 1")
        name = default_name() if name is None else name
        hello = hello_of(queue, name, concurrency, create, silence_limit, key_limit)

        def define(handler: AnyHandler) -> AnyHandler:
            self._definitions.append(_Definition(hello, handler, Stats()))
            return handler

        return define

    def stats(self) -> Dict[str, Stats]:
        """See wq.Client.stats."""
        return {definition.hello.queue: definition.stats for definition in self._definitions}

    async def run(self, *, grace: _types.Duration = 30.0, signals: bool = True) -> None:
        """See wq.Client.run. Handlers that still run after the grace are cancelled, and waited for.
        If this coroutine is cancelled, they are cancelled without a grace."""
        _fork.check()
        limit = _types.microseconds("grace", grace) / 1e6
        self._loop = asyncio.get_running_loop()
        if not self._definitions:
            raise errors.InvalidArgument("there is no worker to run: use Client.worker")
        restore = self._handle_signals() if signals else (lambda: None)
        workers = [
            _Worker(self._open_work, d.hello, d.handler, d.stats, self._events.put_nowait)
            for d in self._definitions
        ]
        try:
            failed = await self._wait_for_end(workers)
            for worker in workers:
                worker.stop()
            deadline = self._loop.time() + limit
            for worker in workers:
                await worker.join(deadline)
        except asyncio.CancelledError:
            for worker in workers:
                await worker.kill()
            raise
        finally:
            restore()
        if failed is not None:
            raise failed

    async def _wait_for_end(self, workers: List[_Worker]) -> Optional[errors.Error]:
        while True:
            event = await self._events.get()
            if event is None:
                return None
            if event in workers:  # And not of a former run.
                return event.error

    def stop(self) -> None:
        """Ends `run` like a first signal; also the next `run`, if none is under way. On the event
        loop only."""
        self._events.put_nowait(None)

    def _handle_signals(self) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        before: Dict[signal.Signals, Any] = {each: signal.getsignal(each) for each in numbers}

        def handle() -> None:
            for each in numbers:  # The next signal ends the process.
                loop.remove_signal_handler(each)
                signal.signal(each, signal.SIG_DFL)
            self.stop()

        for number in numbers:
            loop.add_signal_handler(number, handle)

        def restore() -> None:
            for each, handler in before.items():
                loop.remove_signal_handler(each)
                signal.signal(each, handler)

        return restore


class Session:
    """Like wq.Session: `async with client.work("pods") as session`, `async for job in session`."""

    def __init__(self, open_call: Callable[[], Any], hello: work_pb2.Hello) -> None:
        self.stats = Stats()
        self._open_call = open_call
        self._hello = hello
        self._jobs: "asyncio.Queue[Union[Job, errors.Error, None]]" = asyncio.Queue()
        self._closed = False

    async def _read(self) -> None:
        def assigned(jobs: List[Job]) -> None:
            for job in jobs:
                self._jobs.put_nowait(job)

        error = await self._stream.read(assigned)
        self._jobs.put_nowait(None if self._closed else error)

    async def __aiter__(self) -> AsyncIterator[Job]:
        while True:
            item = await self._jobs.get()
            if isinstance(item, Job):
                if self._stream.start(item):
                    yield item
                continue
            self._jobs.put_nowait(item)  # For another iteration.
            if item is not None:
                raise item
            return

    def set_capacity(self, capacity: int) -> None:
        """Changes how many keys are assigned at once; 0: no more."""
        self._stream.set_capacity(capacity)

    async def close(self) -> None:
        """Sends the answers, and gives back the other keys. At most 10 s."""
        if _fork.forked():
            return  # The stream is the parent's.
        self._closed = True
        await self._stream.finish()
        await self._reader

    async def __aenter__(self) -> "Session":
        self._stream = _Stream(self._open_call, self._hello, self.stats)
        self._reader = asyncio.ensure_future(self._read())
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
