"""Forked children. gRPC does not work in the child of a process that has used it: its threads are
not there, and its sockets are the parent's. So such a child is refused before it touches them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref

from wq import errors

log = logging.getLogger("wq")

_ADVICE = (
    "this process was forked from one that has a wq client, and gRPC does not work in it: fork"
    " before the first client is made, or start the child with subprocess or multiprocessing's"
    ' "spawn", and end this child with os._exit'
)

_used = False  # A client was made, in this process or before its fork.
_forked = False  # This process is a child that cannot use wq.
# The thread of each loop with an asyncio stream. A child shares the descriptors that its loop waits
# for, so that it must not wait there.
_loops: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int]" = weakref.WeakKeyDictionary()


def check() -> None:
    """Raises NotSupported in a child that cannot use wq. Before any lock or use of gRPC."""
    if _forked:
        raise errors.NotSupported(_ADVICE)


def forked() -> bool:
    """Whether this is a child that cannot use wq."""
    return _forked


def use() -> None:
    """Before a client is made."""
    global _used
    check()
    _used = True


def use_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Before an asyncio stream is opened on the loop."""
    _loops[loop] = threading.get_ident()


def leave() -> None:
    """Where a handler has returned, or awaits: ends the process if it is a forked child."""
    if _forked:
        log.error("wq: a child that was forked by a handler came back from it: %s", _ADVICE)
        os._exit(1)


def _after_in_child() -> None:
    global _forked
    _forked = _used
    for loop, thread in _loops.items():
        if thread == threading.get_ident() and not loop.is_closed():
            loop.call_soon(leave)


os.register_at_fork(after_in_child=_after_in_child)
