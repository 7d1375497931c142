//go:build cgo

package wq

import (
	"testing"
	"time"
)

// The interfaces of Kubernetes' libraries, by their shape.

type typedRateLimiter[T comparable] interface {
	When(item T) time.Duration
	Forget(item T)
	NumRequeues(item T) int
}

type namespacedName struct {
	Namespace string
	Name      string
}

type request struct {
	namespacedName
}

// controllerOptions has the shape of controller-runtime's.
type controllerOptions struct {
	NewQueue func(controllerName string,
		rateLimiter typedRateLimiter[request]) typedRateLimitingInterface[request]
}

func TestAControllerTakesTheQueue(t *testing.T) {
	store := memoryStore(t)
	options := controllerOptions{NewQueue: func(name string,
		l typedRateLimiter[request]) typedRateLimitingInterface[request] {
		return NewQueue[request](store, name, l)
	}}
	q := options.NewQueue("pods", fixedDelay[request](0))
	pod := request{namespacedName{Namespace: "default", Name: "pod-1"}}
	q.Add(pod)
	got, shutdown := q.Get()
	if shutdown || got != pod {
		t.Fatal(got, shutdown)
	}
	q.AddRateLimited(got)
	if n := q.NumRequeues(got); n != 1 {
		t.Fatalf("%d requeues", n)
	}
	q.Done(got)
	if q.Len() != 1 {
		t.Fatalf("%d items are queued", q.Len())
	}
}

func TestAQueueThatCannotBeOpenedPanics(t *testing.T) {
	store := memoryStore(t)
	NewQueue[string](store, "q", nil)
	defer func() {
		if recover() == nil {
			t.Fatal("the queue was opened twice")
		}
	}()
	NewQueue[string](store, "q", nil)
}
