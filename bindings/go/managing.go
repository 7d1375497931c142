package wq

// #include "border.h"
// #include "visits.h"
import "C"

import "time"

// Flush returns when all that was done on the queue's store before is as durable as asked for. Blocks.
func (q *Queue[T]) Flush(durability Durability) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_flush(h, C.int32_t(durability), e)
	})
}

// --- Taking back. NotFound: there is nothing to take back ---

// Remove takes a queued item back; of one that a worker holds, the Add that came meanwhile.
func (q *Queue[T]) Remove(item T) error {
	return q.change(item, C.WQGO_REMOVE)
}

// CancelDelay takes the delay of the item back.
func (q *Queue[T]) CancelDelay(item T) error {
	return q.change(item, C.WQGO_CANCEL_DELAY)
}

// EndDelay adds a delayed item now.
func (q *Queue[T]) EndDelay(item T) error {
	return q.change(item, C.WQGO_END_DELAY)
}

// --- Quarantine: items that are kept, with why, and not handed out ---

// Quarantine takes the item out of the queue until Release or Drop. A worker that holds it still calls
// Done.
func (q *Queue[T]) Quarantine(item T, why error) error {
	reason := textOf(why)
	text, textSize := bytesOf(reason)
	return q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_quarantine(h, key, size, text, textSize, e), reason)
	})
}

// Release adds a quarantined item again, its failures forgotten. NotFound: it is not quarantined.
func (q *Queue[T]) Release(item T) error {
	return q.change(item, C.WQGO_RELEASE)
}

// Drop forgets a quarantined item altogether. NotFound: it is not quarantined.
func (q *Queue[T]) Drop(item T) error {
	return q.change(item, C.WQGO_DROP)
}

// IsQuarantined tells whether it is.
func (q *Queue[T]) IsQuarantined(item T) (bool, error) {
	var quarantined C.int32_t
	err := q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_quarantined(h, key, size, &quarantined, e)
	})
	return quarantined != 0, err
}

// --- Cursors: how far a source was read ---

// SetCursor keeps the value under the name, 1 to 64 of [A-Za-z0-9._-], in order with the calls before
// it: what was added before the cursor that a restart finds, is there.
func (q *Queue[T]) SetCursor(name, value string) error {
	data, size := bytesOf(value)
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_set_cursor(q.handle, name, data, size, e), value)
	})
}

// Cursor is the value of SetCursor. NotFound: there is none.
func (q *Queue[T]) Cursor(name string) (string, error) {
	var value string
	var err error
	bad := withName(name, func(name *C.char, _ *C.wq_error) C.wq_code {
		value, err = readBytes(func(bytes *C.wq_bytes, e *C.wq_error) C.wq_code {
			return q.pinned(C.wq_queue_get_cursor(q.handle, name, bytes, e), "")
		})
		return C.WQ_OK
	})
	if bad != nil {
		return "", bad
	}
	return value, err
}

// EraseCursor forgets it. NotFound: there is none.
func (q *Queue[T]) EraseCursor(name string) error {
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_erase_cursor(q.handle, name, e), "")
	})
}

// Cursors are the values by their names.
func (q *Queue[T]) Cursors() (map[string]string, error) {
	entries, err := readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return q.pinned(C.wqgo_cursors(q.handle, list, e), "")
	})
	if err != nil {
		return nil, err
	}
	return pairs(entries), nil
}

// pairs are the names and values that visits.h wrote.
func pairs(entries []string) map[string]string {
	values := make(map[string]string, len(entries)/2)
	for ; len(entries) > 0; entries = entries[2:] {
		values[entries[0]] = entries[1]
	}
	return values
}

// --- Pausing ---

// Pause hands out nothing until Resume, or for so long if it is more than 0; over restarts too.
func (q *Queue[T]) Pause(duration time.Duration) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_pause(h, microseconds(duration), e)
	})
}

// Resume ends a pause.
func (q *Queue[T]) Resume() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_resume(h, e) })
}
