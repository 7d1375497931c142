package wq

// #include "border.h"
import "C"

import (
	"encoding/binary"
	"runtime"
	"sync"
	"unsafe"
)

// A key list is how many keys cross the border at once: each behind its size as 4 bytes, little-endian.

// splitKeys takes a well-formed list apart. The keys share the list's memory.
func splitKeys(list string, count int) []string {
	keys := make([]string, 0, count)
	for len(list) >= 4 {
		size := int(list[0]) | int(list[1])<<8 | int(list[2])<<16 | int(list[3])<<24
		keys = append(keys, list[4:4+size])
		list = list[4+size:]
	}
	return keys
}

// parcel is memory for one batch on its way to C, used again and again.
type parcel struct {
	list    []byte
	count   int
	refused []C.wq_refused
}

var parcels = sync.Pool{New: func() any { return new(parcel) }}

// pack makes the list of the keys. The parcel is to be given back to parcels.
func pack(keys []string) *parcel {
	p := parcels.Get().(*parcel)
	p.list, p.count = p.list[:0], 0
	for _, key := range keys {
		p.append(key)
	}
	return p
}

func (p *parcel) append(key string) {
	p.list = binary.LittleEndian.AppendUint32(p.list, uint32(len(key)))
	p.list = append(p.list, key...)
	p.count++
}

func (p *parcel) size() C.size_t { return C.size_t(len(p.list)) }

func (p *parcel) first() *C.char {
	if len(p.list) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&p.list[0]))
}

// add adds its keys. The refused ones are good until the parcel is given back.
func (p *parcel) add(q C.wq_queue, o C.wqgo_add_options, group string) (C.wqgo_batch, []C.wq_refused) {
	if len(p.refused) <= p.count { // At least one, to have an address.
		p.refused = make([]C.wq_refused, p.count+1)
	}
	batch := C.wqgo_add_batch(q, p.first(), p.size(), o, group, &p.refused[0], C.size_t(len(p.refused)))
	return batch, p.refused[:batch.refused]
}

// room is where keys come out, in C's memory.
type room struct{ c *C.wqgo_room }

var rooms = sync.Pool{New: func() any {
	r := &room{c: (*C.wqgo_room)(C.calloc(1, C.sizeof_wqgo_room))}
	runtime.SetFinalizer(r, func(r *room) {
		C.wq_bytes_free(&r.c.bytes)
		C.free(unsafe.Pointer(r.c))
	})
	return r
}}

func (r *room) text() string { return C.GoStringN(r.c.bytes.data, C.int(r.c.bytes.size)) }

// takeOne takes the next key without waiting; the code alone is TimedOut if there is none.
func takeOne(from C.wqgo_source) (key string, code Code, err error) {
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	result := C.wqgo_get(from, r.c)
	switch result.code {
	case C.WQ_OK:
		return r.text(), 0, nil
	case C.WQ_TIMED_OUT:
		return "", TimedOut, nil
	}
	err = errorOf(result)
	return "", codeOf(err), err
}

// takeMany takes at most max keys, as takeOne.
func takeMany(from C.wqgo_source, max int) (keys []string, code Code, err error) {
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	result := C.wqgo_get_batch(from, C.size_t(max), r.c)
	switch result.code {
	case C.WQ_OK:
		return splitKeys(r.text(), int(r.c.count)), 0, nil
	case C.WQ_TIMED_OUT:
		return nil, TimedOut, nil
	}
	err = errorOf(result)
	return nil, codeOf(err), err
}

// readKeys copies a key list of a call that hands one out, such as a store's names of queues.
func readKeys(body func(list *C.wq_bytes, e *C.wq_error) C.wq_code) ([]string, error) {
	text, err := readBytes(body)
	if err != nil {
		return nil, err
	}
	return splitKeys(text, 8), nil
}

// withNameAndKeys is readKeys of a call that takes a name.
func withNameAndKeys(
	name string, body func(name *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code) ([]string, error) {
	var keys []string
	var err error
	bad := withName(name, func(name *C.char, _ *C.wq_error) C.wq_code {
		keys, err = readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code { return body(name, list, e) })
		return C.WQ_OK
	})
	if bad != nil {
		return nil, bad
	}
	return keys, err
}

// readBytes copies the bytes that a call hands out.
func readBytes(body func(bytes *C.wq_bytes, e *C.wq_error) C.wq_code) (string, error) {
	r := rooms.Get().(*room)
	defer rooms.Put(r)
	if err := call(func(e *C.wq_error) C.wq_code { return body(&r.c.bytes, e) }); err != nil {
		return "", err
	}
	return r.text(), nil
}
