package wq

// This file reads a queue: its counters, its order, its quarantine and its cursors.

// #include "border.h"
// #include "visits.h"
import "C"

import "time"

// Counts are a queue's counters, all of one instant.
type Counts struct {
	Queued      int // Ready to be handed out; equal to Len.
	Processing  int // Held by workers.
	Delayed     int
	Failing     int // With a failure count, except quarantined items.
	Quarantined int
	Paused      bool
	// Totals since the queue was opened; their differences are rates.
	Adds     uint64 // An item became dirty.
	Dones    uint64
	Failures uint64
}

// Counts returns the queue's counters.
func (q *Queue[T]) Counts() (Counts, error) {
	c := C.wq_counts{size: C.sizeof_wq_counts}
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_counts(h, &c, e) })
	return Counts{
		Queued: int(c.queued), Processing: int(c.processing), Delayed: int(c.delayed),
		Failing: int(c.failing), Quarantined: int(c.quarantined), Paused: c.paused != 0,
		Adds: uint64(c.adds), Dones: uint64(c.dones), Failures: uint64(c.failures)}, err
}

// QueuedKey is a queued key with its lane and group. It is a key, because the codec may be unable
// to decode it.
type QueuedKey struct {
	Key   string
	Lane  Lane
	Group string
}

// List returns the queued keys in the order in which they would be handed out, from offset, at most
// limit.
func (q *Queue[T]) List(offset, limit int) ([]QueuedKey, error) {
	if offset < 0 || limit < 0 {
		return nil, newError(InvalidArgument, "offset or limit is negative")
	}
	entries, err := readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return q.pinned(C.wqgo_list(q.handle, C.size_t(offset), C.size_t(limit), list, e), "")
	})
	if err != nil {
		return nil, err
	}
	keys := make([]QueuedKey, 0, len(entries)/3)
	for ; len(entries) > 0; entries = entries[3:] {
		keys = append(keys, QueuedKey{Key: entries[0], Group: entries[1], Lane: Lane(number(entries[2]))})
	}
	return keys, nil
}

// PositionOf counts the items that would be handed out before this item. NotFound: it is not
// queued.
func (q *Queue[T]) PositionOf(item T) (int, error) {
	var position C.size_t
	err := q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_position_of(h, key, size, &position, e)
	})
	return int(position), err
}

// QuarantinedKey is a quarantined key and its last failure.
type QuarantinedKey struct {
	Key         string
	Failures    uint64
	LastError   string
	Quarantined time.Time
}

// Quarantined returns the quarantined keys, sorted by key.
func (q *Queue[T]) Quarantined() ([]QuarantinedKey, error) {
	entries, err := readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return q.pinned(C.wqgo_quarantined(q.handle, list, e), "")
	})
	if err != nil {
		return nil, err
	}
	keys := make([]QuarantinedKey, 0, len(entries)/4)
	for ; len(entries) > 0; entries = entries[4:] {
		keys = append(keys, QuarantinedKey{
			Key: entries[0], LastError: entries[1], Failures: uint64(number(entries[2])),
			Quarantined: time.UnixMicro(number(entries[3]))})
	}
	return keys, nil
}

// SetCursor stores the value under the name, 1 to 64 of [A-Za-z0-9._-], in order with the calls
// before it: after a crash, every Add before the cursor that is found is found too.
func (q *Queue[T]) SetCursor(name, value string) error {
	data, size := bytesOf(value)
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_set_cursor(q.handle, name, data, size, e), value)
	})
}

// Cursor returns the value of SetCursor. NotFound: the cursor does not exist.
func (q *Queue[T]) Cursor(name string) (string, error) {
	var value string
	var err error
	invalid := withName(name, func(name *C.char, _ *C.wq_error) C.wq_code {
		value, err = readBytes(func(bytes *C.wq_bytes, e *C.wq_error) C.wq_code {
			return q.pinned(C.wq_queue_get_cursor(q.handle, name, bytes, e), "")
		})
		return C.WQ_OK
	})
	if invalid != nil {
		return "", invalid
	}
	return value, err
}

// EraseCursor deletes the cursor. NotFound: it does not exist.
func (q *Queue[T]) EraseCursor(name string) error {
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_erase_cursor(q.handle, name, e), "")
	})
}

// Cursors returns the values of all cursors by name.
func (q *Queue[T]) Cursors() (map[string]string, error) {
	entries, err := readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return q.pinned(C.wqgo_cursors(q.handle, list, e), "")
	})
	if err != nil {
		return nil, err
	}
	return pairs(entries), nil
}

// pairs makes a map of the names and values that visits.h wrote.
func pairs(entries []string) map[string]string {
	values := make(map[string]string, len(entries)/2)
	for ; len(entries) > 0; entries = entries[2:] {
		values[entries[0]] = entries[1]
	}
	return values
}
