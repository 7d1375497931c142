package wq

// This file passes arguments and results between Go and C.

// #include "border.h"
import "C"

import (
	"encoding/binary"
	"strings"
	"sync"
	"unsafe"
)

// errorOf returns the error of a call of border.h; nil if it succeeded. It frees the message.
func errorOf(r C.wqgo_result) error {
	if r.code == C.WQ_OK {
		return nil
	}
	message := C.GoString(r.message)
	C.free(unsafe.Pointer(r.message))
	return fromC(r.code, message)
}

// call makes a call of wq/wq.h.
func call(body func(e *C.wq_error) C.wq_code) error {
	var e C.wq_error
	if code := body(&e); code != C.WQ_OK {
		return fromC(code, C.GoString(&e.message[0]))
	}
	return nil
}

// fromC makes the error of a failed call. WQ_BAD_HANDLE means that the store is closed, because
// this package uses no other freed handle, unless a list is closed during a call.
func fromC(code C.wq_code, message string) error {
	if code == 64 {
		return closedError()
	}
	return newError(Code(code), message)
}

// bytesOf returns the string's own bytes, for C to read during a call.
func bytesOf(s string) (*C.char, C.size_t) {
	return (*C.char)(*(*unsafe.Pointer)(unsafe.Pointer(&s))), C.size_t(len(s))
}

// checkName refuses a string that is not a C string.
func checkName(name string) error {
	if strings.IndexByte(name, 0) >= 0 {
		return newError(InvalidArgument, "a name with a NUL")
	}
	return nil
}

// withName calls body with a C string: the name of a queue or a cursor, a path.
func withName(name string, body func(name *C.char, e *C.wq_error) C.wq_code) error {
	if err := checkName(name); err != nil {
		return err
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return call(func(e *C.wq_error) C.wq_code { return body(c, e) })
}

// arena is C memory for the duration of one call.
type arena []unsafe.Pointer

func (a *arena) zeroed(count int, size uintptr) unsafe.Pointer {
	p := C.calloc(C.size_t(count), C.size_t(size))
	*a = append(*a, p)
	return p
}

func (a arena) free() {
	for _, p := range a {
		C.free(p)
	}
}

// text copies s to a C string that is valid as long as the arena.
func (a *arena) text(s string) *C.char {
	c := C.CString(s)
	*a = append(*a, unsafe.Pointer(c))
	return c
}

// nextKey splits the first key off a well-formed list, which is not empty. It shares the memory.
func nextKey(list string) (key, rest string) {
	size := int(list[0]) | int(list[1])<<8 | int(list[2])<<16 | int(list[3])<<24
	return list[4 : 4+size], list[4+size:]
}

// keyList is a key list for C, with room for the refused keys. Its memory is reused.
type keyList struct {
	list    []byte
	count   int
	refused []C.wq_refused
}

var keyLists = sync.Pool{New: func() any { return new(keyList) }}

// newKeyList makes the list of the keys. The caller returns it to keyLists.
func newKeyList(keys []string) *keyList {
	l := keyLists.Get().(*keyList)
	l.list, l.count = l.list[:0], len(keys)
	for _, key := range keys { // Its size as 4 bytes, little-endian, and the key.
		l.list = binary.LittleEndian.AppendUint32(l.list, uint32(len(key)))
		l.list = append(l.list, key...)
	}
	return l
}

func (l *keyList) size() C.size_t { return C.size_t(len(l.list)) }

// first returns where the list begins, for C to read during a call.
func (l *keyList) first() *C.char {
	if len(l.list) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&l.list[0]))
}

// add adds the keys. The refused keys are valid until the list is returned to keyLists.
func (l *keyList) add(
	q C.wq_queue, o AddOptions) (C.wqgo_batch, []C.wq_refused) {
	if len(l.refused) <= l.count { // At least one, to have an address.
		l.refused = make([]C.wq_refused, l.count+1)
	}
	batch := C.wqgo_add_batch(q, l.first(), l.size(), addOptionsToC(o),
		o.Reason, o.TraceParent, &l.refused[0], C.size_t(len(l.refused)))
	return batch, l.refused[:batch.refused]
}

// buffer receives the results of a call, in C's memory, which is reused.
type buffer struct{ c *C.wqgo_buffer }

// freeBuffers has the buffers that no call uses, at most as many as there were calls at a time.
var freeBuffers struct {
	mu   sync.Mutex
	list []buffer
}

const keptBytes = 64 << 10 // Of a buffer that no call uses.

func takeBuffer() buffer {
	freeBuffers.mu.Lock()
	defer freeBuffers.mu.Unlock()
	last := len(freeBuffers.list) - 1
	if last < 0 {
		return buffer{(*C.wqgo_buffer)(C.calloc(1, C.sizeof_wqgo_buffer))}
	}
	r := freeBuffers.list[last]
	freeBuffers.list = freeBuffers.list[:last]
	return r
}

func (r buffer) giveBack() {
	if r.c.bytes.capacity > keptBytes {
		C.wq_bytes_free(&r.c.bytes)
	}
	freeBuffers.mu.Lock()
	defer freeBuffers.mu.Unlock()
	freeBuffers.list = append(freeBuffers.list, r)
}

func (r buffer) text() string { return C.GoStringN(r.c.bytes.data, C.int(r.c.bytes.size)) }

// takeKeys takes at most max keys without waiting. code is TimedOut, and err nil, if no key is
// queued.
func takeKeys(from C.wqgo_getter, max int) (keys []taken, code Code, err error) {
	r := takeBuffer()
	defer r.giveBack()
	var lanes []C.int32_t
	var first *C.int32_t
	if from.has_lanes != 0 && max <= maxPoll { // GetBatch wants no lanes.
		lanes = make([]C.int32_t, max)
		first = &lanes[0]
	}
	result := C.wqgo_get(from, C.size_t(max), r.c, first)
	if result.code == C.WQ_TIMED_OUT {
		return nil, TimedOut, nil
	}
	if err := errorOf(result); err != nil {
		return nil, codeOf(err), err
	}
	keys = make([]taken, r.c.count)
	list := r.text()
	for i := range keys {
		keys[i].key, list = nextKey(list)
		if lanes != nil {
			keys[i].lane = Lane(lanes[i])
		}
	}
	return keys, 0, nil
}

// readKeys returns the keys of the list that the call writes, such as a store's names of queues.
func readKeys(body func(list *C.wq_bytes, e *C.wq_error) C.wq_code) ([]string, error) {
	list, err := readBytes(body)
	return keysIn(list), err
}

// keysIn returns the keys of a key list.
func keysIn(list string) []string {
	keys := []string{}
	for key := ""; list != ""; keys = append(keys, key) {
		key, list = nextKey(list)
	}
	return keys
}

// readBytes returns the bytes that the call writes.
func readBytes(body func(bytes *C.wq_bytes, e *C.wq_error) C.wq_code) (string, error) {
	r := takeBuffer()
	defer r.giveBack()
	if err := call(func(e *C.wq_error) C.wq_code { return body(&r.c.bytes, e) }); err != nil {
		return "", err
	}
	return r.text(), nil
}

// Version returns the version of the library, which may be later than this package's: "0.1.0".
func Version() string { return C.GoString(C.wq_version()) }

// crossing makes a call into C that does nothing, for the benchmarks.
func crossing() { C.wq_version() }
