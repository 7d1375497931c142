"""The errors of calls. Each has the name of its wq::StatusCode in `code`.

Immutable after construction, so thread-safe.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Type

import grpc

from wq.v1 import types_pb2


class Error(Exception):
    """A failed call. `code` is the name of the kind of error: "NotFound", "NotDurable", …

    Each code of the server has a subclass. Two more kinds are of the connection: Unavailable and
    Unauthenticated. Any other failure of gRPC has the code "Unknown".
    """

    code = "Unknown"

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__ and "code" not in vars(cls):
            cls.code = cls.__name__

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    @property
    def message(self) -> str:
        """The text of the error, without the code."""
        return str(self.args[0])


class InvalidArgument(Error):
    """An argument that is never valid: an empty key, say. Nothing changed."""


class NotFound(Error):
    """The store, queue or key does not exist."""


class AlreadyExists(Error):
    """What was to be created exists already."""


class NotProcessing(Error):
    """The key is not assigned to this worker, or the token is old. Nothing changed."""


class ShuttingDown(Error):
    """The queue or the store is shutting down. Nothing changed."""


class TimedOut(Error):
    """The deadline of the call passed. The outcome of a change is unknown."""


class Locked(Error):
    """Another process owns the store."""


class Corruption(Error):
    """The store's bytes are damaged."""


class NotDurable(Error):
    """Applied in the server's memory; the outcome on disk is unknown."""


class StoreIOError(Error):
    """The server's operating system refused a call; nothing was applied. Code "IOError"."""

    code = "IOError"


class NotSupported(Error):
    """The server does not have this call, the store has another format version, or this process is a
    forked child, which cannot use gRPC: see wq.Client."""


class NotOwner(Error):
    """The server's process does not own the replicated store, or not any more; nothing changed.

    Another process owns it, or soon will: a worker connects again.
    """


class Full(Error):
    """The queue has as many pending keys as it may; nothing changed. Try again later."""


class Unavailable(Error):
    """The server is not reachable, or the connection broke: the outcome of a change is unknown.

    Adding a key again is harmless: the queue deduplicates.
    """


class Unauthenticated(Error):
    """The server refuses the token or the client's certificate, or requires one."""


_KINDS: Dict[str, Type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}

# For failures without the metadata wq-code: those of gRPC itself.
_OF_GRPC = {
    grpc.StatusCode.UNAVAILABLE: "Unavailable",
    grpc.StatusCode.CANCELLED: "Unavailable",
    grpc.StatusCode.DEADLINE_EXCEEDED: "TimedOut",
    grpc.StatusCode.UNAUTHENTICATED: "Unauthenticated",
    grpc.StatusCode.PERMISSION_DENIED: "Unauthenticated",
    grpc.StatusCode.UNIMPLEMENTED: "NotSupported",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "InvalidArgument",  # A message above the size limit.
}

# After these a worker does not connect again: the next attempt would fail likewise.
PERMANENT = (InvalidArgument, NotFound, NotSupported, Unauthenticated)


def _camel(name: str) -> str:
    """"NOT_FOUND" -> "NotFound", and "IO_ERROR" -> "IOError"."""
    if not name.isupper():
        return name
    return "".join("IO" if part == "IO" else part.title() for part in name.split("_"))


def make(code: str, message: str) -> Error:
    """The Error of a code, which is spelled as in C++ ("NotFound") or in the enum ("NOT_FOUND")."""
    code = _camel(code)
    kind = _KINDS.get(code)
    return kind(message) if kind is not None else Error(message, code)


def of_message(error: Any) -> Error:
    """The Error of a wq.v1.Error."""
    try:
        name = types_pb2.Code.Name(error.code)
    except ValueError:  # A code of a newer server.
        name = f"CODE_{error.code}"
    return make(name[len("CODE_") :], error.message)


def of_rpc(error: Any) -> Error:
    """The Error of a grpc.RpcError of a call, sync or aio."""
    for key, value in error.trailing_metadata() or ():
        if key == "wq-code":
            return make(value if isinstance(value, str) else value.decode(), error.details() or "")
    status = error.code()
    message = error.details() or status.name
    return make(_OF_GRPC.get(status, "Unknown"), message)
