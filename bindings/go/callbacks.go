package wq

// This file has the functions that C calls: OnHealth, OnLeadership and GroupOf.

// #include <stdlib.h>
// #include <wq/wq.h>
// extern void wqgoHealth(void* handle, wq_code code, char* message);
// extern void wqgoLeadership(void* handle, wq_leadership* change);
// extern size_t wqgoGroupOf(void* handle, char* key, size_t size, char* group, size_t capacity);
import "C"

import (
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"
)

// listener holds a function that C calls: StoreOptions.OnHealth, what Replication.OnLeadership is
// called by, or the groups of a queue's keys. Its memory is C's, because C keeps its address.
type listener struct{ handle *cgo.Handle }

func listenBy(function any) listener {
	handle := (*cgo.Handle)(C.calloc(1, C.size_t(unsafe.Sizeof(cgo.Handle(0)))))
	*handle = cgo.NewHandle(function)
	return listener{handle}
}

func newListener(onHealth func(err error)) listener {
	if onHealth == nil {
		return listener{}
	}
	return listenBy(onHealth)
}

// install sets the listener in the options.
func (l listener) install(options *C.wq_store_options) {
	if l.handle != nil {
		options.health = (*[0]byte)(C.wqgoHealth)
		options.health_arg = unsafe.Pointer(l.handle)
	}
}

// installLeadership sets the listener, of a func(Leadership), in the options.
func (l listener) installLeadership(options *C.wq_replication) {
	options.leadership = (*[0]byte)(C.wqgoLeadership)
	options.leadership_arg = unsafe.Pointer(l.handle)
}

// installGroups sets the listener, of a func(key string) string, in the options.
func (l listener) installGroups(options *C.wq_queue_options) {
	options.group_of = (*[0]byte)(C.wqgoGroupOf)
	options.group_arg = unsafe.Pointer(l.handle)
}

// free frees the listener. REQUIRES: C makes no further call.
func (l listener) free() {
	if l.handle != nil {
		l.handle.Delete()
		C.free(unsafe.Pointer(l.handle))
	}
}

// crashOfPanic is deferred by what C calls: a panic that passed through the frames of C++ would
// leave its locks held. So it ends the process, whoever would recover it.
func crashOfPanic(where string) {
	if cause := recover(); cause != nil {
		text := fmt.Sprintf(
			"wq: a panic of %s cannot pass through C: %v\n%s", where, cause, debug.Stack())
		go panic(text)
		select {}
	}
}

// wqgoHealth reports a change of the store's health to OnHealth.
//
//export wqgoHealth
func wqgoHealth(handle unsafe.Pointer, code C.wq_code, message *C.char) {
	defer crashOfPanic("OnHealth")
	onHealth := (*cgo.Handle)(handle).Value().(func(err error))
	if code == C.WQ_OK {
		onHealth(nil)
		return
	}
	onHealth(fromC(code, C.GoString(message)))
}

// wqgoGroupOf writes the group of a key that the caller has not named.
//
//export wqgoGroupOf
func wqgoGroupOf(handle unsafe.Pointer, key *C.char, size C.size_t, group *C.char,
	capacity C.size_t) C.size_t {
	defer crashOfPanic("GroupOf")
	groupOf := (*cgo.Handle)(handle).Value().(func(key string) string)
	return C.size_t(copy(unsafe.Slice((*byte)(unsafe.Pointer(group)), int(capacity)),
		groupOf(C.GoStringN(key, C.int(size)))))
}

// wqgoLeadership reports a begin or an end of the ownership.
//
//export wqgoLeadership
func wqgoLeadership(handle unsafe.Pointer, change *C.wq_leadership) {
	defer crashOfPanic("OnLeadership")
	(*cgo.Handle)(handle).Value().(func(Leadership))(Leadership{
		Owner: change.owner != 0, Epoch: uint64(change.epoch), Why: C.GoString(change.why)})
}
