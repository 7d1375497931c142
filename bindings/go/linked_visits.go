package wq

// This file has the readings of a linked queue for which C visits one entry after the other, and
// the functions that C calls for each.

// #include <wq/wq.h>
// extern int32_t wqgoVisitQueued(void* each, wq_queued_key* key);
// extern int32_t wqgoVisitQuarantined(void* each, wq_quarantined_key* key);
// extern int32_t wqgoVisitCause(void* each, char* reason, char* trace_parent);
// extern int32_t wqgoVisitCursor(void* each, char* name, char* value, size_t value_size);
// extern int32_t wqgoVisitSource(void* each, wq_source_info* source);
import "C"

import (
	"runtime"
	"runtime/cgo"
	"time"
	"unsafe"
)

// visited returns the entries for which C calls a visitor, whose argument is `each`, in body.
func visited[E any](body func(each unsafe.Pointer, e *C.wq_error) C.wq_code) ([]E, error) {
	var entries []E
	handle := cgo.NewHandle(func(entry E) { entries = append(entries, entry) })
	defer handle.Delete()
	err := call(func(e *C.wq_error) C.wq_code { return body(unsafe.Pointer(&handle), e) })
	return entries, err
}

// pass passes an entry to the function that visited has made, and goes on.
func pass[E any](each unsafe.Pointer, entry E) C.int32_t {
	(*cgo.Handle)(each).Value().(func(E))(entry)
	return 1
}

func bytesFrom(data *C.char, size C.size_t) string { return C.GoStringN(data, C.int(size)) }

func (q *linkedQueue) list(limit int) ([]QueuedKey, error) {
	return visited[QueuedKey](func(each unsafe.Pointer, e *C.wq_error) C.wq_code {
		return C.wq_queue_list(
			q.handle, C.size_t(limit), C.wq_visit_queued(C.wqgoVisitQueued), each, e)
	})
}

//export wqgoVisitQueued
func wqgoVisitQueued(each unsafe.Pointer, key *C.wq_queued_key) C.int32_t {
	return pass(each, QueuedKey{Key: bytesFrom(key.key, key.key_size), Lane: Lane(key.lane),
		Group: bytesFrom(key.group, key.group_size)})
}

func (q *linkedQueue) quarantined() ([]QuarantinedKey, error) {
	return visited[QuarantinedKey](func(each unsafe.Pointer, e *C.wq_error) C.wq_code {
		return C.wq_queue_quarantined(
			q.handle, C.wq_visit_quarantined(C.wqgoVisitQuarantined), each, e)
	})
}

//export wqgoVisitQuarantined
func wqgoVisitQuarantined(each unsafe.Pointer, key *C.wq_quarantined_key) C.int32_t {
	return pass(each, QuarantinedKey{Key: bytesFrom(key.key, key.key_size),
		Failures: uint64(key.failures), LastError: bytesFrom(key.last_error, key.last_error_size),
		Quarantined: time.UnixMicro(int64(key.quarantined_at_us))})
}

func (q *linkedQueue) causes(key string) (Causes, error) {
	var leftOut C.uint64_t
	data, size := bytesOf(key)
	list, err := visited[Cause](func(each unsafe.Pointer, e *C.wq_error) C.wq_code {
		return C.wq_queue_causes(
			q.handle, data, size, C.wq_visit_cause(C.wqgoVisitCause), each, &leftOut, e)
	})
	runtime.KeepAlive(key)
	return Causes{List: list, LeftOut: int(leftOut)}, err
}

//export wqgoVisitCause
func wqgoVisitCause(each unsafe.Pointer, reason, traceParent *C.char) C.int32_t {
	return pass(each, Cause{Reason: C.GoString(reason), TraceParent: C.GoString(traceParent)})
}

func (q *linkedQueue) cursors() (map[string]string, error) {
	list, err := visited[[2]string](func(each unsafe.Pointer, e *C.wq_error) C.wq_code {
		return C.wq_queue_cursors(q.handle, C.wq_visit_cursor(C.wqgoVisitCursor), each, e)
	})
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(list))
	for _, cursor := range list {
		values[cursor[0]] = cursor[1]
	}
	return values, nil
}

//export wqgoVisitCursor
func wqgoVisitCursor(each unsafe.Pointer, name, value *C.char, size C.size_t) C.int32_t {
	return pass(each, [2]string{C.GoString(name), bytesFrom(value, size)})
}

func (q *linkedQueue) sources() ([]SourceInfo, error) {
	return visited[SourceInfo](func(each unsafe.Pointer, e *C.wq_error) C.wq_code {
		return C.wq_queue_sources(q.handle, C.wq_visit_source(C.wqgoVisitSource), each, e)
	})
}

//export wqgoVisitSource
func wqgoVisitSource(each unsafe.Pointer, source *C.wq_source_info) C.int32_t {
	return pass(each, SourceInfo{Name: C.GoString(source.name), Objects: int(source.objects),
		Unchanged: uint64(source.unchanged), Changed: uint64(source.changed),
		Deleted: uint64(source.deleted)})
}
