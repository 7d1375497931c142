"""A client of wq, the persistent work queue.

    import wq

    client = wq.Client("/var/lib/pods.wq")
    client.add("pods", "default/web-1", durability="process")

    @client.worker("pods", concurrency=8)
    def reconcile(job):
        print(job.text, job.token)

    client.run()

The queue never assigns a key twice at once. A worker that was cut off may still be running: what a
handler writes to should refuse a lower `job.token` than it has seen.

wq.aio has the same for asyncio. Times are aware datetimes by the server's clock; durations are
seconds, or timedeltas. Messages are logged to the logger "wq".
"""

from wq._client import Client, Session
from wq._state import Reply, Stats
from wq._stream import Job
from wq._types import (
    AddResult,
    Cause,
    ChangeResult,
    Counts,
    HeldKey,
    ListedKey,
    RefusedKey,
    Snapshot,
    StoreInfo,
    WorkerInfo,
)
from wq.errors import (
    AlreadyExists,
    Corruption,
    Error,
    InvalidArgument,
    Locked,
    NotDurable,
    NotFound,
    Full,
    NotOwner,
    NotProcessing,
    NotSupported,
    ShuttingDown,
    StoreIOError,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from wq.outcomes import GiveBack, Outcome, Quarantine, RequeueAfter

__all__ = [
    "AddResult",
    "AlreadyExists",
    "Cause",
    "ChangeResult",
    "Client",
    "Corruption",
    "Counts",
    "Error",
    "GiveBack",
    "HeldKey",
    "InvalidArgument",
    "Job",
    "ListedKey",
    "Locked",
    "NotDurable",
    "NotFound",
    "Full",
    "NotOwner",
    "NotProcessing",
    "NotSupported",
    "Outcome",
    "Quarantine",
    "RefusedKey",
    "Reply",
    "RequeueAfter",
    "Session",
    "ShuttingDown",
    "Snapshot",
    "Stats",
    "StoreIOError",
    "StoreInfo",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
    "WorkerInfo",
]
