package wq

// #include <stddef.h>
// #include <stdint.h>
import "C"

import "runtime/cgo"

//export wqgoEntries
func wqgoEntries(handle C.uintptr_t, list *C.char, size C.size_t) C.int32_t {
	if cgo.Handle(handle).Value().(*sink).take(C.GoStringN(list, C.int(size))) {
		return 1
	}
	return 0
}
