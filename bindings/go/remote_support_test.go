package wq

// What the tests of remote and of linked queues share.

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// holders is an oracle of which items are held.
type holders struct {
	mu   sync.Mutex
	held map[string]bool
	seen map[string]int
}

func newHolders() *holders { return &holders{held: map[string]bool{}, seen: map[string]int{}} }

func (h *holders) begin(t testing.TB, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[item] {
		t.Errorf("%q is held twice", item)
	}
	h.held[item] = true
	h.seen[item]++
}

func (h *holders) end(item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, item)
}

func (h *holders) distinct() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}

// work starts goroutines that take items, one at a time each, until the queue is shut down.
func (h *holders) work(t testing.TB, q *Queue[string], workers int) *sync.WaitGroup {
	var done sync.WaitGroup
	for i := 0; i < workers; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				h.begin(t, item)
				h.end(item)
				q.Done(item)
			}
		}()
	}
	return &done
}

func wantCauses(t *testing.T, q *Queue[string], item string, want ...Cause) {
	t.Helper()
	causes, err := q.Causes(item)
	must(t, err)
	if fmt.Sprint(causes) != fmt.Sprint(Causes{List: want}) {
		t.Fatalf("%q has %+v, not %+v", item, causes, want)
	}
}

// typedRateLimitingInterface has the methods of client-go's.
type typedRateLimitingInterface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
	AddAfter(item T, duration time.Duration)
	AddRateLimited(item T)
	Forget(item T)
	NumRequeues(item T) int
}

var _ typedRateLimitingInterface[string] = (*Queue[string])(nil)

// fixedDelay is a limiter of the caller's.
type fixedDelay[T any] time.Duration

func (d fixedDelay[T]) When(T) time.Duration { return time.Duration(d) }
func (fixedDelay[T]) Forget(T)               {}
func (fixedDelay[T]) NumRequeues(T) int      { return 0 }
