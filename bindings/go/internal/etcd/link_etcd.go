//go:build cgo && wq_etcd && !wq_static

package etcd

// #cgo pkg-config: wq-etcd
// #include <stdlib.h>
// #include <wq/c/etcd.h>
import "C"

import (
	"strings"
	"unsafe"
)

// Open returns a wq_replicated_log, which the caller frees, or a code that is not 0 and a message.
func Open(o Options) (log unsafe.Pointer, code int32, message string) {
	var texts []unsafe.Pointer
	defer func() {
		for _, text := range texts {
			C.free(text)
		}
	}()
	hasNul := false
	text := func(s string) *C.char {
		hasNul = hasNul || strings.IndexByte(s, 0) >= 0
		c := C.CString(s)
		texts = append(texts, unsafe.Pointer(c))
		return c
	}
	options := C.wq_etcd_options{
		size: C.sizeof_wq_etcd_options, endpoint_count: C.size_t(len(o.Endpoints)),
		prefix: text(o.Prefix), ca_file: text(o.CAFile), cert_file: text(o.CertFile),
		key_file: text(o.KeyFile), user: text(o.User), password: text(o.Password),
		request_timeout_ms: C.uint32_t(o.RequestTimeoutMs)}
	if o.NoCompaction {
		options.no_compaction = 1
	}
	if n := len(o.Endpoints); n > 0 { // In C's memory, since C must not follow pointers in Go's.
		list := C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof((*C.char)(nil))))
		texts = append(texts, list)
		for i, endpoint := range o.Endpoints {
			unsafe.Slice((**C.char)(list), n)[i] = text(endpoint)
		}
		options.endpoints = (**C.char)(list)
	}
	if hasNul {
		return nil, C.WQ_INVALID_ARGUMENT, "an option of Replication has a NUL"
	}
	var opened *C.wq_replicated_log
	var e C.wq_error
	if failed := C.wq_etcd_log_open(&options, &opened, &e); failed != C.WQ_OK {
		return nil, int32(failed), C.GoString(&e.message[0])
	}
	return unsafe.Pointer(opened), 0, ""
}
