package wq

// #include <stdlib.h>
// #include <wq/wq.h>
// extern void wqgoHealth(void* handle, wq_code code, char* message);
import "C"

import (
	"runtime/cgo"
	"sync"
	"unsafe"
)

// listener is StoreOptions.OnHealth, where C finds it. Its memory is C's, since C keeps its address.
type listener struct{ handle *cgo.Handle }

func newListener(onHealth func(err error)) listener {
	if onHealth == nil {
		return listener{}
	}
	handle := (*cgo.Handle)(C.calloc(1, C.size_t(unsafe.Sizeof(cgo.Handle(0)))))
	*handle = cgo.NewHandle(onHealth)
	return listener{handle}
}

// install makes C call it.
func (l listener) install(options *C.wq_store_options) {
	if l.handle != nil {
		options.health = (*[0]byte)(C.wqgoHealth)
		options.health_arg = unsafe.Pointer(l.handle)
	}
}

// free forgets it. REQUIRES: C does not call any more.
func (l listener) free() {
	if l.handle != nil {
		l.handle.Delete()
		C.free(unsafe.Pointer(l.handle))
	}
}

//export wqgoHealth
func wqgoHealth(handle unsafe.Pointer, code C.wq_code, message *C.char) {
	onHealth := (*cgo.Handle)(handle).Value().(func(err error))
	if code == C.WQ_OK {
		onHealth(nil)
		return
	}
	onHealth(fromC(code, C.GoString(message)))
}

// faults keeps what failed in calls that return no error. Thread-safe.
type faults struct {
	mu      sync.Mutex
	last    error
	channel chan error // Made when somebody asks for it.
}

// So many errors wait for a reader of the channel.
const faultsKept = 64

func (f *faults) report(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = err
	select {
	case f.channel <- err: // Of no channel: never.
	default:
	}
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *faults) errors() <-chan error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.channel == nil {
		f.channel = make(chan error, faultsKept)
	}
	return f.channel
}
