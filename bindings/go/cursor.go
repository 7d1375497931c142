package wq

// This file reads and writes a queue's cursors: how far sources were read.

// #include "border.h"
// #include "visits.h"
import "C"

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
