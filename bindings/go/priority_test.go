package wq

import (
	"testing"
	"time"
)

// The shape of controller-runtime's pkg/controller/priorityqueue.

type addOpts struct {
	After       time.Duration
	RateLimited bool
	Priority    *int
}

type priorityQueue[T comparable] interface {
	typedRateLimitingInterface[T]
	AddWithOpts(o addOpts, Items ...T)
	GetWithPriority() (item T, priority int, shutdown bool)
}

func at(priority int) *int { return &priority }

// wantOrder checks that Get returns these items, and finishes them.
func wantOrder(t *testing.T, q priorityQueue[string], want ...string) {
	t.Helper()
	for _, item := range want {
		got, _, shutdown := q.GetWithPriority()
		if shutdown || got != item {
			t.Fatalf("got %q (%v), want %q", got, shutdown, item)
		}
		q.Done(got)
	}
}

func openPriorityQueue(t *testing.T) (*Queue[string], priorityQueue[string]) {
	t.Helper()
	q, err := OpenPriorityQueue[string, addOpts](memoryStore(t), "q", QueueOptions[string]{
		Backoff: Exponential(time.Millisecond, time.Millisecond)})
	must(t, err)
	return q.Queue, q
}

func TestPrioritiesHighestFirstAndNeverLowered(t *testing.T) {
	plain, q := openPriorityQueue(t)
	q.AddWithOpts(addOpts{Priority: at(-100)}, "low", "raised", "stays low")
	q.Add("zero")
	q.AddWithOpts(addOpts{Priority: at(1 << 40)}, "most")
	q.AddWithOpts(addOpts{Priority: at(7)}, "raised", "high")
	q.AddWithOpts(addOpts{Priority: at(-200)}, "high")
	wantOrder(t, q, "most", "raised", "high", "zero", "low", "stays low")
	must(t, plain.Err())
	q.AddWithOpts(addOpts{}, "a", "")
	wantCode(t, plain.Err(), InvalidArgument)
	wantOrder(t, q, "a")
}

func TestARequeueKeepsItsPriority(t *testing.T) {
	_, q := openPriorityQueue(t)
	q.AddWithOpts(addOpts{Priority: at(9)}, "failing")
	item, priority, _ := q.GetWithPriority()
	q.AddWithOpts(addOpts{RateLimited: true, Priority: &priority}, item)
	if q.NumRequeues(item) != 1 {
		t.Fatal("the failure was not counted")
	}
	q.Done(item)
	eventually(t, "it is due", func() bool { return q.Len() == 1 })
	q.AddWithOpts(addOpts{Priority: at(8)}, "lower")
	wantOrder(t, q, "failing", "lower")
}

func TestDelaysHavePriorities(t *testing.T) {
	_, q := openPriorityQueue(t)
	q.AddWithOpts(addOpts{After: time.Millisecond, Priority: at(5)}, "a", "b")
	q.AddAfter("c", time.Millisecond)
	q.AddRateLimited("d")
	eventually(t, "all are due", func() bool { return q.Len() == 4 })
	q.AddWithOpts(addOpts{Priority: at(6)}, "first")
	wantOrder(t, q, "first", "a", "b")
	q.ShutDown()
}
