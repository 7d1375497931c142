package wq

// This file has the sources of a linked queue.

// #include "border.h"
import "C"

// linkedSource is a source of a linked queue, or a list of it. The store frees what free does not.
type linkedSource struct{ handle C.wq_source }

func (q *linkedQueue) openSource(name string) (sourceBackend, error) {
	var s linkedSource
	err := withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_queue_open_source(q.handle, name, &s.handle, e)
	})
	return s, err
}

func (q *linkedQueue) removeSource(name string) error {
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_queue_remove_source(q.handle, name, e)
	})
}

func (s linkedSource) observe(o observed, options AddOptions) (ObserveResult, error) {
	var before *C.wq_bytes
	var row buffer
	if o.before != nil {
		row = takeBuffer()
		defer row.giveBack()
		before = &row.c.bytes
	}
	keys := newKeyList(o.keys)
	defer keyLists.Put(keys)
	seen := C.wqgo_observe(s.handle, o.object, o.version, o.tombstone,
		keys.first(), keys.size(), toInt(o.filtered), toInt(o.deleted), before,
		addOptionsToC(options), options.Reason, options.TraceParent)
	if before != nil && seen.result.code == C.WQ_OK {
		*o.before = keysIn(row.text())
	}
	return ObserveResult{Changed: seen.did.changed != 0, Added: int(seen.did.added),
		Deduplicated: int(seen.did.deduplicated), Held: int(seen.did.held)}, errorOf(seen.result)
}

func (s linkedSource) beginList(options ListOptions) (sourceBackend, error) {
	var list linkedSource
	err := call(func(e *C.wq_error) C.wq_code {
		return C.wqgo_begin_list(s.handle, options.Scope, options.Fingerprint, &list.handle, e)
	})
	return list, err
}

func (s linkedSource) nextDeleted() ([]string, error) {
	return readKeys(func(row *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_source_next_deleted(s.handle, row, e)
	})
}

func (s linkedSource) endList(options AddOptions) error {
	return errorOf(C.wqgo_end_list(
		s.handle, addOptionsToC(options), options.Reason, options.TraceParent))
}

func (s linkedSource) free() { C.wq_source_free(s.handle, nil) }
