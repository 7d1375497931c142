package wq

// This file has the functions that C calls: OnHealth and OnLeadership.

// #include <stdlib.h>
// #include <wq/wq.h>
// extern void wqgoHealth(void* handle, wq_code code, char* message);
// extern void wqgoLeadership(void* handle, wq_leadership* change);
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// listener holds a function that C calls: StoreOptions.OnHealth, or what Replication.OnLeadership
// is called by. Its memory is C's, because C keeps its address.
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

// free frees the listener. REQUIRES: C makes no further call.
func (l listener) free() {
	if l.handle != nil {
		l.handle.Delete()
		C.free(unsafe.Pointer(l.handle))
	}
}

// wqgoHealth reports a change of the store's health to OnHealth.
//
//export wqgoHealth
func wqgoHealth(handle unsafe.Pointer, code C.wq_code, message *C.char) {
	onHealth := (*cgo.Handle)(handle).Value().(func(err error))
	if code == C.WQ_OK {
		onHealth(nil)
		return
	}
	onHealth(fromC(code, C.GoString(message)))
}

// wqgoLeadership reports a begin or an end of the ownership.
//
//export wqgoLeadership
func wqgoLeadership(handle unsafe.Pointer, change *C.wq_leadership) {
	(*cgo.Handle)(handle).Value().(func(Leadership))(Leadership{
		Owner: change.owner != 0, Epoch: uint64(change.epoch), Why: C.GoString(change.why)})
}
