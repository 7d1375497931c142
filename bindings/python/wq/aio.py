"""The client for asyncio: wq.Client with coroutines and asynchronous iterators.

    async with wq.aio.Client("/var/lib/pods.wq") as client:

        @client.worker("pods", concurrency=100)
        async def reconcile(job):
            await asyncio.sleep(1)

        await client.run()

A client belongs to one event loop. Unless said otherwise, the methods, options, results and errors
are those of wq.Client; instead of blocking, they await. Threads of the client talk to the server,
so heartbeats are sent while a handler blocks the loop, too. If the loop is closed, the next one
gives its keys back instead.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import signal
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    List,
    Optional,
    Set,
    Tuple,
    TypeVar,
    Union,
)

import grpc

from wq import _client, _fork, _stream, _types, errors, outcomes
from wq._client import Connection, default_name
from wq._state import FINISH, STOPPED, JobBase, Stats, checked, hello_of
from wq._types import ListedKey
from wq._worker import Definition, Receiver
from wq.v1 import work_pb2

__all__ = ["Client", "Handler", "Job", "Session"]

_CANCELLED_FINISH = 1.0  # FINISH, of a run that is cancelled.

# `_awaited` gives a method of wq.Client or wq.Job, which passes on what waits here, its type here.
if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
    T = TypeVar("T")

    def _awaited(
        method: Callable[Concatenate[Any, P], T]
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...

else:

    def _awaited(method):
        @functools.wraps(method)
        async def call(*arguments, **options):
            return await method(*arguments, **options)

        return call


def _post(loop: asyncio.AbstractEventLoop, callback: Callable[..., Any], *arguments: Any) -> bool:
    """Has the loop call it, from any thread. False: the loop is closed."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        return False
    return True


def _in_thread(call: Callable[[], None]) -> asyncio.Event:
    """Calls what blocks, in a thread of its own, as handlers may have all those of the loop's
    executor. Returns the event of its end."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def run() -> None:
        try:
            call()
        finally:
            _post(loop, ended.set)

    threading.Thread(target=run, name="wq-end", daemon=True).start()
    return ended


class Job(JobBase):
    """An assigned key: see wq.Job. Its methods are for the client's event loop only, and are to be
    awaited."""

    __slots__ = ("_loop", "_task", "_cancelled")

    def __init__(
        self,
        assignment: work_pb2.Assignment,
        stream: Any,
        loop: Optional[asyncio.AbstractEventLoop] = None,
    ) -> None:
        super().__init__(assignment, stream)
        self._loop = loop
        self._task: Optional["asyncio.Task[None]"] = None
        self._cancelled = False  # By the client.

    added_again = _awaited(_stream.Job.added_again)
    done = _awaited(_stream.Job.done)
    failed = _awaited(_stream.Job.failed)
    requeue_after = _awaited(_stream.Job.requeue_after)
    give_back = _awaited(_stream.Job.give_back)

    def _note_lost(self) -> None:
        if self._loop is not None:
            _post(self._loop, self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._cancelled = True
            self._task.cancel()

    async def _wait(self, waiter: Optional["concurrent.futures.Future[Any]"]) -> Any:
        return await asyncio.wrap_future(waiter) if waiter is not None else None


Handler = Callable[[Job], Awaitable[Union[None, outcomes.Outcome]]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


class _Worker(Receiver[Job]):
    """One run of a worker: a task for each handler. To be used on its event loop."""

    def __init__(
        self,
        open_call: Callable[[Any], Any],
        definition: Definition,
        ended: Callable[["_Worker"], object],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        make_job = functools.partial(Job, loop=self._loop)
        super().__init__(open_call, definition, ended, make_job)
        self._mine: Set[Job] = set()  # Whose keys are in use by this worker.

    def _alive(self) -> bool:
        return not self._loop.is_closed()

    async def wait(self, timeout: Optional[float] = None) -> None:
        """Waits for the running handlers."""
        tasks = [job._task for job in self._running if job._task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    def end(self, limit: float) -> None:
        """Cancels the running handlers, and begins to give their keys back and to end, as
        `_finish`. May be called again."""
        self.stop()
        with self._lock:
            if self._stream is not None:
                self._stream.give_back(started=True, reason=STOPPED)
        for job in self._running:
            job._cancel()
        self._end = _in_thread(functools.partial(self._finish, limit))

    async def ended(self) -> None:
        """Waits for the end. Handlers that catch their cancellation are waited for."""
        await self._end.wait()
        await self.wait()

    def _receive(self) -> None:
        super()._receive()
        with self._lock:
            left = () if self._alive() else tuple(self._mine)  # No handler ends any more.
        for job in left:
            self._release(job)

    def _are_ready(self, jobs: List[Job]) -> None:
        with self._lock:
            self._mine.update(jobs)
        if not _post(self._loop, self._start_tasks, jobs):
            for job in jobs:
                self._release(job)

    def _release(self, job: Job) -> None:
        with self._lock:
            mine = job in self._mine
            self._mine.discard(job)
        if mine:
            super()._release(job)

    def _start_tasks(self, jobs: List[Job]) -> None:
        for job in jobs:
            if not self._begin(job):
                self._release(job)
                continue
            job._task = self._loop.create_task(self._run(job))
            job._task.add_done_callback(functools.partial(self._task_ended, job))

    async def _run(self, job: Job) -> None:
        try:
            outcome = checked(await self._handler(job))
        except asyncio.CancelledError as error:
            cancelling = getattr(job._task, "cancelling", int)  # Since Python 3.11.
            ours = job._cancelled or cancelling() > 0
            outcome = outcomes.GiveBack() if ours else self._outcome(job, error)
        except (Exception, SystemExit) as error:  # SystemExit would end all workers.
            outcome = self._outcome(job, error)
        _fork.leave()
        self._answer(job, outcome)

    def _task_ended(self, job: Job, task: "asyncio.Task[None]") -> None:
        if not job._answered:  # The task was cancelled before its first step.
            self._answer(job, outcomes.GiveBack())
        self._run_ended(job)
        self._release(job)


class Client(Connection):
    """A client of a wq server, for all its queues: see wq.Client.

    To be made and used on one event loop."""

    def _make_events(self) -> "asyncio.Queue[Optional[_Worker]]":
        return asyncio.Queue()

    async def close(self) -> None:
        """Closes the connection. Calls under way fail with Unavailable."""
        if _fork.forked():
            return  # The connection is the parent's.
        self._channel.close()
        self._address.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _call(self, method: Any, request: Any, convert: Callable[[Any], Any]) -> Any:
        _fork.check()
        metadata = self._address.metadata()
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        call = method.future(request, timeout=self._timeout, metadata=metadata)
        call.add_done_callback(lambda _: _post(loop, ended.set))
        try:
            await ended.wait()
            return convert(call.result())
        except grpc.RpcError as error:
            raise errors.of_rpc(error) from None
        finally:
            call.cancel()  # Nothing, if it has ended.

    add = _awaited(_client.Client.add)
    remove = _awaited(_client.Client.remove)
    counts = _awaited(_client.Client.counts)
    change = _awaited(_client.Client.change)
    cancel_delay = _awaited(_client.Client.cancel_delay)
    requeue = _awaited(_client.Client.requeue)
    forget = _awaited(_client.Client.forget)
    release = _awaited(_client.Client.release)
    drop = _awaited(_client.Client.drop)
    delete = _awaited(_client.Client.delete)
    pause = _awaited(_client.Client.pause)
    resume = _awaited(_client.Client.resume)
    flush = _awaited(_client.Client.flush)
    delete_queue = _awaited(_client.Client.delete_queue)
    snapshot = _awaited(_client.Client.snapshot)
    workers = _awaited(_client.Client.workers)
    store = _awaited(_client.Client.store)

    async def list(
        self, queue: str, *, quarantined: bool = False, limit: int = 1000
    ) -> Tuple[ListedKey, ...]:
        """See wq.Client.list."""
        listing = _types.Listing(queue, quarantined, limit)
        while (request := listing.request()) is not None:
            await self._call(self._browse.Search, request, listing.add)
        return tuple(listing.found)

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
        hello = hello_of(
            queue, name or default_name(), capacity, create, silence_limit, key_limit
        )
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
        """See wq.Client.worker. Each handler is a task, which is cancelled when its key is lost. A
        handler that raises CancelledError though its task was not cancelled has failed."""
        if concurrency < 1:
            raise errors.InvalidArgument(f"concurrency {concurrency}: must be at least 1")
        hello = hello_of(
            queue, name or default_name(), concurrency, create, silence_limit, key_limit
        )
        return self._define(hello, concurrency)

    async def run(self, *, grace: _types.Duration = 30.0, signals: bool = True) -> None:
        """See wq.Client.run. Handlers that still run after the grace are cancelled, and waited for.
        If this coroutine is cancelled, they are cancelled without a grace, and their keys are given
        back."""
        _fork.check()
        limit = _types.microseconds("grace", grace) / 1e6
        loop = asyncio.get_running_loop()
        if not self._definitions:
            raise errors.InvalidArgument("there is no worker to run: use Client.worker")
        _fork.use_loop(loop)
        restore = self._handle_signals(loop) if signals else (lambda: None)
        ended = functools.partial(_post, loop, self._events.put_nowait)
        workers = [_Worker(self._open_work, each, ended) for each in self._definitions]
        try:
            for worker in workers:
                worker.start()
            failed = await self._wait_for_end(workers)
            for worker in workers:
                worker.stop()
            deadline = loop.time() + limit
            for worker in workers:
                await worker.wait(max(deadline - loop.time(), 0))
            await self._end(workers, FINISH)
        except BaseException:  # Cancelled, or no room for the thread of one of them.
            await self._end(workers, _CANCELLED_FINISH)
            raise
        finally:
            restore()
        if failed is not None:
            raise failed

    async def _end(self, workers: List[_Worker], limit: float) -> None:
        for worker in workers:  # All before the first is waited for: this may be cancelled then.
            worker.end(limit)
        for worker in workers:
            await worker.ended()

    async def _wait_for_end(self, workers: List[_Worker]) -> Optional[errors.Error]:
        while True:
            event = await self._events.get()
            if event is None:
                return None
            if event in workers:  # And not of a former run.
                error: Optional[errors.Error] = event.error
                return error

    def stop(self) -> None:
        """Ends `run` like a first signal; also the next `run`, if none is under way. On the event
        loop only."""
        self._events.put_nowait(None)

    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
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

    def __init__(self, open_call: Callable[[Any], Any], hello: work_pb2.Hello) -> None:
        self.stats = Stats()
        self._open_call = open_call
        self._hello = hello
        self._jobs: "asyncio.Queue[Union[Job, errors.Error, None]]" = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Job]:
        while True:
            item = await self._jobs.get()
            if isinstance(item, Job):
                if self._session.stream.start(item):
                    yield item
                continue
            self._jobs.put_nowait(item)  # For another iteration.
            if item is not None:
                raise item
            return

    def set_capacity(self, capacity: int) -> None:
        """Changes how many keys are assigned at once; 0: no more."""
        self._session.set_capacity(capacity)

    async def close(self) -> None:
        """Sends the answers, and gives back the other keys. At most 10 s."""
        if _fork.forked():
            return  # The stream is the parent's.
        await _in_thread(self._session.close).wait()

    async def __aenter__(self) -> "Session":
        _fork.check()
        loop = asyncio.get_running_loop()
        _fork.use_loop(loop)
        self._session = _client.SessionBase(
            self._open_call,
            self._hello,
            self.stats,
            functools.partial(Job, loop=loop),
            functools.partial(_post, loop, self._jobs.put_nowait),
            lambda: not loop.is_closed(),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
