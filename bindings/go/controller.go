package wq

// This file fits queues to controller-runtime: its names, its NewQueue, its AddOpts.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"time"
)

const (
	maxQueueName = 64
	hashDigits   = 16
)

// QueueName returns the name of the queue of a controller. A controller may have any name: one that
// is not 1 to 64 of [A-Za-z0-9._-] is shortened, has its other bytes replaced by "-", and ends with
// a hash of the whole name.
func QueueName(controller string) string {
	name := []byte(controller)
	for i, c := range name {
		if !isNameByte(c) {
			name[i] = '-'
		}
	}
	if controller == "" || len(name) <= maxQueueName && string(name) == controller {
		return controller
	}
	if most := maxQueueName - hashDigits - 1; len(name) > most {
		name = name[:most]
	}
	hash := sha256.Sum256([]byte(controller))
	return string(name) + "-" + hex.EncodeToString(hash[:])[:hashDigits]
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == '-'
}

// NewPriorityQueue opens the queue of a controller as OpenPriorityQueue does, with these
// differences: the controller may have any name (QueueName), ShutDown stops the queue
// (StopOnShutDown), and it panics if the queue cannot be opened, since NewQueue returns no error:
//
//	controller.Options{NewQueue: func(name string, _ workqueue.TypedRateLimiter[reconcile.Request],
//	) workqueue.TypedRateLimitingInterface[reconcile.Request] {
//		return wq.NewPriorityQueue[priorityqueue.AddOpts](
//			store, name, wq.QueueOptions[reconcile.Request]{})
//	}}
//
// The limiter that controller-runtime passes is left out on purpose: controller-runtime makes one
// for each process, so with it each restart would begin all backoffs again. The queue's own
// (QueueOptions.Backoff) has the same delays, and continues.
func NewPriorityQueue[O PriorityOptions, T comparable](
	store Opener, name string, options QueueOptions[T]) *PriorityQueue[T, O] {
	options.StopOnShutDown = true
	q, err := OpenPriorityQueue[T, O](store, QueueName(name), options)
	if err != nil {
		panic(fmt.Sprintf("wq: opening queue %q: %v", name, err))
	}
	return q
}

// NewQueue opens the queue of a controller with this limiter. The controller may have any name
// (QueueName). It is for callers that cannot return an error, and panics if OpenQueue fails.
//
// A limiter begins again with each process, and so do the delays of failing items. Nil: the
// queue's own backoff, which continues. Delays are merged (QueueOptions.MergeDelays), as in
// controller-runtime.
func NewQueue[T comparable](store Opener, name string, limiter RateLimiter[T]) *Queue[T] {
	options := QueueOptions[T]{Limiter: limiter, MergeDelays: true}
	q, err := newQueue(store, QueueName(name), options, true)
	if err != nil {
		panic(fmt.Sprintf("wq: opening queue %q: %v", name, err))
	}
	return q
}

// PriorityOptions is controller-runtime's priorityqueue.AddOpts: a struct with these fields, in any
// order, which opening a queue checks.
//
//	After       time.Duration
//	RateLimited bool
//	Priority    *int // Higher is sooner; nil is 0. Or an int, as before controller-runtime v0.22.
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
	after, rateLimited, priority int // Indexes.
	unknown                      []int
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
	to := map[string]*int{
		"After": &r.after, "RateLimited": &r.rateLimited, "Priority": &r.priority}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		known, _ := want.FieldByName(f.Name)
		if index := to[f.Name]; index == nil {
			r.unknown = append(r.unknown, i)
		} else if f.Type == known.Type || f.Name == "Priority" && f.Type.Kind() == reflect.Int {
			*index = i
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
	fields := reflect.ValueOf(options)
	known := knownOpts{
		After:       time.Duration(fields.Field(r.after).Int()),
		RateLimited: fields.Field(r.rateLimited).Bool(),
	}
	if priority := fields.Field(r.priority); priority.Kind() == reflect.Int {
		n := int(priority.Int())
		known.Priority = &n
	} else {
		known.Priority = priority.Interface().(*int)
	}
	for _, i := range r.unknown {
		if !fields.Field(i).IsZero() {
			return known, newError(InvalidArgument, fmt.Sprintf(
				"%T has %s, which wq does not know: it is ignored", options, fields.Type().Field(i).Name))
		}
	}
	return known, nil
}
