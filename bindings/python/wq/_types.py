"""What calls take and return. Results are immutable."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from wq import errors
from wq.v1 import admin_pb2, browse_pb2, queue_pb2, types_pb2

Key = Union[bytes, str]  # A str is encoded as UTF-8.
Keys = Union[Key, Iterable[Key]]
Duration = Union[int, float, datetime.timedelta]  # A number is seconds.
_LONGEST = 36525 * 24 * 3600  # Seconds: 100 years, which C++ cuts to, too.

_DURABILITY: Mapping[Optional[str], Any] = {
    None: types_pb2.DURABILITY_UNSPECIFIED,
    "async": types_pb2.DURABILITY_ASYNC,
    "process": types_pb2.DURABILITY_PROCESS,
    "power": types_pb2.DURABILITY_POWER,
    "replicated": types_pb2.DURABILITY_REPLICATED,
}
_DELAY_MODE: Mapping[Optional[str], Any] = {
    "earliest": types_pb2.DELAY_MODE_EARLIEST,
    "replace": types_pb2.DELAY_MODE_REPLACE,
    "resync": types_pb2.DELAY_MODE_RESYNC,
}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def key_bytes(key: Key) -> bytes:
    """A key as it is sent. Raises TypeError for what is neither text nor bytes: bytes(3) is
    three NUL bytes."""
    return key.encode() if isinstance(key, str) else bytes(memoryview(key))


def keys_list(keys: Keys) -> List[bytes]:
    """One key, or several, as they are sent."""
    if isinstance(keys, (str, bytes, bytearray, memoryview)):
        return [key_bytes(keys)]
    return [key_bytes(key) for key in keys]


def microseconds(name: str, duration: Duration) -> int:
    """The duration that is the argument `name`, as it is sent: at most 100 years. One of less than
    a microsecond is not 0, which is no delay. Raises InvalidArgument if it is negative, NaN,
    infinite or no duration."""
    timed = isinstance(duration, datetime.timedelta)
    value: Any = duration.total_seconds() if timed else duration  # type: ignore[union-attr]
    try:
        valid = 0 <= value < math.inf
    except (TypeError, ArithmeticError):
        valid = False
    if not valid:
        raise errors.InvalidArgument(f"{name} {duration!r}: must be seconds or a timedelta, from 0")
    us: int = round(min(value, _LONGEST) * 1_000_000)
    return max(us, 1) if value else 0


def seconds(name: str, duration: Optional[Duration]) -> Optional[float]:
    """The same for a wait of this process; None is without a limit."""
    return None if duration is None else microseconds(name, duration) / 1e6


def _value(argument: str, values: Mapping[Optional[str], Any], name: Optional[str]) -> Any:
    """The enum's value of the name that is the argument `argument`."""
    try:
        return values[name]
    except KeyError:
        known = ", ".join(f'"{each}"' for each in values if each)
        raise errors.InvalidArgument(f"{argument} {name!r} is none of {known}") from None


def durability_value(name: Optional[str]) -> Any:
    """The enum's value of "async", "process", "power" or "replicated"; None is the queue's own."""
    return _value("durability", _DURABILITY, name)


def time_of(us: int) -> datetime.datetime:
    """A time of the server's wall clock."""
    return _EPOCH + datetime.timedelta(microseconds=us)


@dataclass(frozen=True)
class RefusedKey:
    """A key that was not added. `index` is its position in the keys of the call."""

    index: int
    key: bytes
    error: errors.Error


@dataclass(frozen=True)
class Cause:
    """Why a key needs work."""

    reason: str  # "": none.
    traceparent: str  # Of W3C Trace Context; "": none.


@dataclass(frozen=True)
class AddResult:
    """The outcome of an add, as numbers of keys.

    `held` keys are in quarantine, and still there.
    """

    added: int = 0
    deduplicated: int = 0
    held: int = 0
    refused: Tuple[RefusedKey, ...] = ()


@dataclass(frozen=True)
class ChangeResult:
    """How many keys were changed, and the keys that the change does not apply to."""

    done: int
    absent: Tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Counts:
    """The counters of one queue, all of one instant. The last three are totals since the server
    opened the queue. `next_due` is seconds until the next delayed key is due."""

    queued: int
    processing: int
    delayed: int
    failing: int
    quarantined: int
    next_due: Optional[float]
    lanes: Mapping[int, int] = field(hash=False)
    paused: bool
    shutting_down: bool
    adds: int
    dones: int
    failures: int
    stuck: int  # Assigned longer ago than the queue's stuck_after.
    full: int  # A total, as the three before: adds that found the queue full.
    held_back: int = 0  # Queued, but held back by the limits on hand-outs.
    resyncs: int = 0  # Of those delayed: they wait for their resync.
    other_lanes: int = 0  # Queued, but not in `lanes`, which has the 100 with the most keys.


@dataclass(frozen=True)
class ListedKey:
    """A queued key (lane, group), or a quarantined key (the other fields)."""

    key: bytes
    lane: int = 0
    group: bytes = b""
    failures: int = 0
    last_error: str = ""
    quarantined_at: Optional[datetime.datetime] = None


@dataclass(frozen=True)
class HeldKey:
    """A key that a worker holds."""

    key: bytes
    token: int
    since: datetime.datetime
    attempt: int


@dataclass(frozen=True)
class WorkerInfo:
    """A connected worker. `held` has its oldest 1000 keys; `held_count` counts all."""

    queue: str
    name: str
    peer: str
    capacity: int
    connected_at: datetime.datetime
    last_heard_at: datetime.datetime
    shards: Tuple[int, ...]
    held_count: int
    held: Tuple[HeldKey, ...]
    done: int
    failed: int


@dataclass(frozen=True)
class StoreInfo:
    """The served store. `health` is None while what is acknowledged is durable. A queue that the
    server has not opened has no Counts."""

    pid: int
    uuid: str
    health: Optional[errors.Error]
    queues: Mapping[str, Optional[Counts]] = field(hash=False)


@dataclass(frozen=True)
class Snapshot:
    """A copy of the store on the server's machine."""

    path: str
    taken_at: datetime.datetime
    bytes: int


def add_request(
    queue: str,
    keys: List[bytes],
    delay: Duration,
    lane: Optional[int],
    group: Optional[Key],
    durability: Optional[str],
    create: bool,
    reason: str,
    traceparent: str,
    delay_mode: str,
    debounce: Optional[Tuple[Duration, Duration]],
) -> queue_pb2.AddRequest:
    """The request of an add."""
    request = queue_pb2.AddRequest(
        queue=queue,
        keys=keys,
        create=create,
        delay_us=microseconds("delay", delay),
        durability=durability_value(durability),
    )
    if lane is not None:
        request.lane = lane
    if group is not None:
        request.group = key_bytes(group)
    if reason or traceparent:
        request.cause.reason = reason
        request.cause.trace_parent = traceparent
    request.delay_mode = _value("delay_mode", _DELAY_MODE, delay_mode)
    if debounce is not None:
        request.debounce.quiet_us = microseconds("debounce", debounce[0])
        request.debounce.max_wait_us = microseconds("debounce", debounce[1])
    return request


def add_result(response: queue_pb2.AddResponse, keys: List[bytes]) -> AddResult:
    """The result of adding `keys`."""
    refused = tuple(
        RefusedKey(key.index, keys[key.index], errors.of_message(key.error))
        for key in response.refused
    )
    return AddResult(response.added, response.deduplicated, response.held, refused)


def change_result(response: admin_pb2.ChangeResponse, keys: List[bytes]) -> ChangeResult:
    """The result of a change of `keys`."""
    return ChangeResult(response.done, tuple(keys[index] for index in response.absent))


def change_request(
    queue: str, kind: str, keys: List[bytes], durability: Optional[str], per_second: float
) -> admin_pb2.ChangeRequest:
    """The request of the change `kind`, a name of ChangeRequest.Kind in lower case."""
    try:
        value = admin_pb2.ChangeRequest.Kind.Value(kind.upper())
    except ValueError:
        raise errors.InvalidArgument(f"{kind!r} is no change of keys") from None
    return admin_pb2.ChangeRequest(
        queue=queue,
        kind=value,
        keys=keys,
        durability=durability_value(durability),
        per_second=per_second,
    )


def _same(message: Any, kind: Any) -> Dict[str, Any]:
    """The fields of a message that a result of this kind has by the same name."""
    names = (each.name for each in fields(kind))
    return {name: getattr(message, name) for name in names if hasattr(message, name)}


def counts_of(response: types_pb2.QueueCounts) -> Counts:
    """A message's Counts."""
    values = _same(response, Counts)
    values["next_due"] = response.next_due_us / 1e6 if response.HasField("next_due_us") else None
    values["lanes"] = dict(response.lanes)
    return Counts(**values)


def listed_key(key: browse_pb2.KeyRow) -> ListedKey:
    """A message's ListedKey."""
    at = time_of(key.quarantined_at_us) if key.quarantined_at_us else None
    return ListedKey(key.key, key.lane, key.group, key.failures, key.last_error, at)


class Listing:
    """The requests of a list of keys, one after the other: each returns at most 1000."""

    MAX_LISTED = 1000

    def __init__(self, queue: str, quarantined: bool, limit: int) -> None:
        self._left = limit
        state = browse_pb2.KEY_STATE_QUARANTINED if quarantined else browse_pb2.KEY_STATE_QUEUED
        sort = browse_pb2.SearchRequest.KEY if quarantined else browse_pb2.SearchRequest.ADDED
        self._request = browse_pb2.SearchRequest(queue=queue, sort=sort)
        self._request.filter.states.append(state)
        self.found: List[ListedKey] = []

    def request(self) -> Optional[browse_pb2.SearchRequest]:
        """The next request; None: this was the last one."""
        if self._left <= 0:
            return None
        self._request.limit = min(self._left, self.MAX_LISTED)
        return self._request

    def add(self, response: browse_pb2.SearchResponse) -> None:
        """Takes the response to the request."""
        self.found += map(listed_key, response.keys)
        self._left = self._left - len(response.keys) if response.next else 0
        self._request.page = response.next


def worker_infos(response: admin_pb2.ListWorkersResponse) -> Tuple[WorkerInfo, ...]:
    """A message's WorkerInfos."""
    return tuple(_worker_info(worker) for worker in response.workers)


def _worker_info(worker: admin_pb2.Worker) -> WorkerInfo:
    values = _same(worker, WorkerInfo)
    values["connected_at"] = time_of(worker.connected_at_us)
    values["last_heard_at"] = time_of(worker.last_heard_at_us)
    values["shards"] = tuple(worker.shards)
    values["held"] = tuple(
        HeldKey(held.key, held.token, time_of(held.since_us), held.attempt) for held in worker.held
    )
    return WorkerInfo(**values)


def store_info(response: admin_pb2.GetStoreResponse) -> StoreInfo:
    """A message's StoreInfo."""
    health = errors.of_message(response.health) if response.health.code else None
    queues: Dict[str, Optional[Counts]] = {
        queue.name: counts_of(queue.counts) if queue.open else None for queue in response.queues
    }
    return StoreInfo(response.pid, response.uuid, health, queues)


def snapshot_of(response: admin_pb2.CreateSnapshotResponse) -> Snapshot:
    """A message's Snapshot."""
    return Snapshot(response.path, time_of(response.taken_at_us), response.bytes)
