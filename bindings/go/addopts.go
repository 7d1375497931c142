//go:build cgo

package wq

// This file reads controller-runtime's AddOpts without importing it.

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

// PriorityOptions is controller-runtime's priorityqueue.AddOpts: a struct with these fields, in any
// order, which opening a queue checks.
//
//	After       time.Duration
//	RateLimited bool
//	Priority    *int // Higher is sooner; nil is 0.
//
// It may have more fields, as a later version may. An item that is added with one of them set is
// added without it, and Queue.Err reports it.
type PriorityOptions any

// knownOpts are the fields of PriorityOptions.
type knownOpts struct {
	After       time.Duration
	RateLimited bool
	Priority    *int
}

// addOptsReader reads the fields of a type of PriorityOptions.
type addOptsReader struct {
	after, rateLimited, priority uintptr // Offsets.
	unknown                      []reflect.StructField
}

// newAddOptsReader fails with InvalidArgument if O is not of the shape of PriorityOptions.
func newAddOptsReader[O PriorityOptions]() (addOptsReader, error) {
	var r addOptsReader
	var zero O
	t := reflect.TypeOf(zero)
	if t == nil || t.Kind() != reflect.Struct {
		return r, newError(InvalidArgument, fmt.Sprintf("%v is no struct of AddOpts' fields", t))
	}
	want := reflect.TypeOf(knownOpts{})
	to := map[string]*uintptr{
		"After": &r.after, "RateLimited": &r.rateLimited, "Priority": &r.priority}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		known, _ := want.FieldByName(f.Name)
		if offset := to[f.Name]; offset == nil {
			r.unknown = append(r.unknown, f)
		} else if f.Type == known.Type {
			*offset = f.Offset
			delete(to, f.Name)
		}
	}
	for i := 0; i < want.NumField(); i++ {
		if f := want.Field(i); to[f.Name] != nil {
			return r, newError(InvalidArgument, fmt.Sprintf("%v has no %s %v", t, f.Name, f.Type))
		}
	}
	return r, nil
}

// readAddOpts returns the known fields, and an error if another one is set. REQUIRES: r is of O.
func readAddOpts[O PriorityOptions](r *addOptsReader, options O) (knownOpts, error) {
	at := unsafe.Pointer(&options)
	known := knownOpts{
		After:       *(*time.Duration)(unsafe.Add(at, r.after)),
		RateLimited: *(*bool)(unsafe.Add(at, r.rateLimited)),
		Priority:    *(**int)(unsafe.Add(at, r.priority)),
	}
	for _, f := range r.unknown {
		if !reflect.ValueOf(options).FieldByIndex(f.Index).IsZero() {
			return known, newError(InvalidArgument,
				fmt.Sprintf("%T has %s, which wq does not know: it is ignored", options, f.Name))
		}
	}
	return known, nil
}
