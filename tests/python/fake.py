"""A server of wq's services with queues in memory, for the tests of the Python client.

It does what proto/wq/v1 says of the parts that the client depends on, and breaks streams, takes
keys away and refuses answers when a test asks for it. `python3 fake.py DIR [KEYS]` serves it alone.
"""

import collections
import contextlib
import os
import queue
import threading
import uuid
from concurrent import futures

import grpc

from wq.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    types_pb2,
    work_pb2,
    work_pb2_grpc,
)

_STATUS = {
    "InvalidArgument": grpc.StatusCode.INVALID_ARGUMENT,
    "NotFound": grpc.StatusCode.NOT_FOUND,
    "NotDurable": grpc.StatusCode.INTERNAL,
    "ShuttingDown": grpc.StatusCode.UNAVAILABLE,
    "NotOwner": grpc.StatusCode.UNAVAILABLE,
}


def fail(context, code, message):
    """Ends a call as the server does."""
    context.set_trailing_metadata((("wq-code", code),))
    context.abort(_STATUS[code], message)


class FakeQueue:
    """The keys of one queue. Under the lock of the server."""

    def __init__(self):
        self.queued = collections.OrderedDict()  # The values are unused.
        self.processing = {}  # key -> (token, session)
        self.again = set()
        self.delayed = {}  # key -> the delay in microseconds; it never ends by itself.
        self.failures = collections.Counter()
        self.attempts = collections.Counter()
        self.errors = {}
        self.causes = {}  # key -> the cause of its last Add that had one.
        self.quarantine = {}
        self.adds = self.dones = self.failed = 0

    def add(self, key):
        if key in self.quarantine:
            return "held"
        if key in self.processing:
            known = key in self.again
            self.again.add(key)
        else:
            known = key in self.queued
            if not known:
                self.queued[key] = None
        self.adds += 1
        return "deduplicated" if known else "added"

    def end(self, key, *, first=False):
        """The key is no longer processing."""
        del self.processing[key]
        if first:
            self.queued[key] = None
            self.queued.move_to_end(key, last=False)
        elif key in self.again:
            self.queued[key] = None
        self.again.discard(key)

    def counts(self):
        return types_pb2.QueueCounts(
            queued=len(self.queued),
            processing=len(self.processing),
            delayed=len(self.delayed),
            failing=len(self.failures.keys() - self.quarantine.keys()),
            quarantined=len(self.quarantine),
            adds=self.adds,
            dones=self.dones,
            failures=self.failed,
        )


class Session:
    """A Work stream."""

    def __init__(self, hello, peer):
        self.hello = hello
        self.peer = peer
        self.capacity = hello.capacity
        self.out = queue.SimpleQueue()  # Responses; None ends the stream, an exception breaks it.
        self.held = {}  # token -> key; None once the key is lost, until its answer.


class FakeServer(
    queue_pb2_grpc.QueueServicer,
    work_pb2_grpc.WorkServicer,
    admin_pb2_grpc.AdminServicer,
):
    """Thread-safe. `start` listens at DIRECTORY/control.sock."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.changes = []  # (kind, per_second) of each Admin.Change.
        # Of its own: the handlers that a test leaves behind hold keys of their store.
        self.uuid = str(uuid.uuid4())
        self.changed = threading.Condition(threading.RLock())
        self.queues = collections.defaultdict(FakeQueue)
        self.sessions = []
        self.token = 0
        self.requests = []  # Each WorkRequest that has come, with its session.
        self.metadata = []
        self.refusals = collections.deque()  # Of the next answers: an Error each.
        self.not_owner = 0  # So many of the next workers find a replica of the store.
        self.hold_results = False  # Answers get no result while this is set.
        self.silence_limit_us = 30_000_000
        self._server = None
        self._directory_fd = -1

    # --- Control by tests ---

    def start(self, *addresses):
        """Listens at the socket, and at these addresses. Returns their ports."""
        self._server = grpc.server(
            futures.ThreadPoolExecutor(64), options=[("grpc.so_reuseport", 0)]
        )
        queue_pb2_grpc.add_QueueServicer_to_server(self, self._server)
        work_pb2_grpc.add_WorkServicer_to_server(self, self._server)
        admin_pb2_grpc.add_AdminServicer_to_server(self, self._server)
        # The directory's path may be longer than a socket's.
        self._directory_fd = os.open(self.directory, os.O_PATH | os.O_DIRECTORY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "control.sock"))
        self._server.add_insecure_port(f"unix:/proc/self/fd/{self._directory_fd}/control.sock")
        ports = []
        for address, credentials in addresses:
            if credentials is None:
                ports.append(self._server.add_insecure_port(address))
            else:
                ports.append(self._server.add_secure_port(address, credentials))
        self._server.start()
        return ports

    def stop(self):
        """Ends like a killed server: streams break, and their keys are given back."""
        self.break_streams()
        self._server.stop(None).wait()
        os.close(self._directory_fd)

    def break_streams(self):
        """Breaks all Work streams; their keys are given back."""
        with self.changed:
            for session in list(self.sessions):
                self._end(session)
                session.out.put(("ShuttingDown", "the stream was broken"))

    def wait_for(self, condition, what):
        """Waits until the condition of this server holds; fails after 20 s."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self), 20):
                raise AssertionError(f"not in 20 s: {what}")

    def take_away(self, key):
        """Takes a key from its worker, and assigns it no more until it is added."""
        with self.changed:
            each = self._queue_of(key)
            token, session = each.processing.pop(key)
            session.held[token] = None
            session.out.put(
                work_pb2.WorkResponse(lost=[work_pb2.Lost(token=token, reason="taken by a test")])
            )
            self.changed.notify_all()

    def _queue_of(self, key):
        return next(each for each in self.queues.values() if key in each.processing)

    # --- Queue ---

    def _find(self, name, context, create=False):
        if name not in self.queues and not create:
            fail(context, "NotFound", f"there is no queue {name}")
        return self.queues[name]

    def _add(self, request, each):
        response = queue_pb2.AddResponse()
        for index, key in enumerate(request.keys):
            if not key:
                error = types_pb2.Error(code=types_pb2.CODE_INVALID_ARGUMENT, message="empty key")
                response.refused.add(index=index, error=error)
            else:
                if request.HasField("cause"):
                    each.causes[key] = request.cause
                outcome = each.add(key)
                setattr(response, outcome, getattr(response, outcome) + 1)
        self._pump()
        return response

    def Add(self, request, context):
        self.metadata.append(dict(context.invocation_metadata()))
        with self.changed:
            return self._add(request, self._find(request.queue, context, request.create))

    def Counts(self, request, context):
        with self.changed:
            return self._find(request.queue, context).counts()

    def Work(self, requests, context):
        first = next(requests, None)
        if first is None:
            return
        if not 1 <= first.hello.capacity <= 100_000:
            fail(context, "InvalidArgument", f"capacity {first.hello.capacity}")
        with self.changed:
            if self.not_owner > 0:
                self.not_owner -= 1
                fail(context, "NotOwner", "a replica does not have the queues")
            self._find(first.hello.queue, context, first.hello.create)
            session = Session(first.hello, context.peer())
            self.requests.append((session, first))
            limit = first.hello.silence_limit_us or self.silence_limit_us
            session.out.put(
                work_pb2.WorkResponse(
                    welcome=work_pb2.Welcome(
                        session="s", silence_limit_us=limit, store_uuid=self.uuid
                    )
                )
            )
            self.sessions.append(session)
            self._pump()
        threading.Thread(target=self._read, args=(session, first, requests), daemon=True).start()
        while (item := session.out.get()) is not None:
            if isinstance(item, tuple):
                fail(context, *item)
            yield item

    def _read(self, session, first, requests):
        try:
            self._receive(session, first)
            for request in requests:
                with self.changed:
                    self.requests.append((session, request))
                self._receive(session, request)
        except grpc.RpcError:
            pass
        with self.changed:
            self._end(session)
            session.out.put(None)

    def _end(self, session):
        """All keys of the session are given back."""
        if session in self.sessions:
            self.sessions.remove(session)
            each = self.queues[session.hello.queue]
            for key in reversed([key for key in session.held.values() if key is not None]):
                each.end(key, first=True)
            session.held.clear()
            self._pump()

    def _receive(self, session, request):
        with self.changed:
            response = work_pb2.WorkResponse()
            if request.HasField("capacity"):
                session.capacity = request.capacity
            each = self.queues[session.hello.queue]
            for answer in request.answers:
                response.results.append(self._answer(session, each, answer))
            for token in request.added_again:
                key = session.held.get(token)
                response.added_again.add(
                    token=token, added_again=key in each.again, held=key is not None
                )
            if self.hold_results:
                del response.results[:]
            if response.ByteSize():
                session.out.put(response)
            self._pump()

    def _answer(self, session, each, answer):
        result = work_pb2.AnswerResult(token=answer.token)
        key = session.held.pop(answer.token, None)
        if self.refusals:
            result.error.CopyFrom(self.refusals.popleft())
            if key is not None:
                each.end(key, first=True)
            return result
        if key is None:
            result.error.code = types_pb2.CODE_NOT_PROCESSING
            result.error.message = f"token {answer.token} is old"
            return result
        kind = answer.WhichOneof("result")
        each.end(key, first=kind == "give_back")
        if kind == "failed":
            each.failures[key] += 1
            each.failed += 1
            each.errors[key] = answer.failed.error
            result.failures = each.failures[key]
            if answer.failed.quarantine:
                each.quarantine[key] = answer.failed.error
                result.quarantined = True
            elif key not in each.queued:
                each.queued[key] = None
        elif kind != "give_back":
            each.failures.pop(key, None)
            each.errors.pop(key, None)
            each.attempts.pop(key, None)
            if kind == "requeue_after":
                each.delayed[key] = answer.requeue_after.delay_us
        if kind != "give_back":
            each.dones += 1  # As Queue::Done, which ends every answer but this.
        return result

    def _pump(self):
        """Assigns what can be assigned."""
        for session in self.sessions:
            each = self.queues[session.hello.queue]
            response = None
            while each.queued and len(session.held) < session.capacity:
                key, _ = each.queued.popitem(last=False)
                self.token += 1
                each.processing[key] = (self.token, session)
                session.held[self.token] = key
                each.attempts[key] += 1
                if response is None:
                    response = work_pb2.WorkResponse()
                response.assignments.add(
                    key=key,
                    token=self.token,
                    attempt=each.attempts[key],
                    failures=each.failures[key] if key in each.failures else 0,
                    last_error=each.errors.get(key, ""),
                    added_at_us=1_700_000_000_000_000,
                    causes=[each.causes[key]] if key in each.causes else [],
                )
            if response is not None:
                session.out.put(response)
        self.changed.notify_all()

    # --- Admin ---

    def Change(self, request, context):
        kind = admin_pb2.ChangeRequest.Kind.Name(request.kind)
        with self.changed:
            self.changes.append((kind, request.per_second))
        return admin_pb2.ChangeResponse()

    def Flush(self, request, context):
        fail(context, "NotDurable", "the disk is full")
