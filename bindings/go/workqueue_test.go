//go:build cgo

package wq

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// The behaviour that users of client-go's workqueue rely on, method by method.

func TestErrReportsDoneOfAnItemThatIsNotHeld(t *testing.T) {
	q := memoryQueue(t)
	q.Done("a")
	wantCode(t, q.Err(), NotProcessing)
	q.Add("a")
	q.Done("a") // It is queued, not held.
	wantLen(t, q, 1)
}

func TestShutDownHandsOutWhatIsQueuedAndThenEnds(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	if q.ShuttingDown() {
		t.Fatal("the queue is shutting down before ShutDown")
	}
	q.ShutDown()
	if !q.ShuttingDown() {
		t.Fatal("the queue is not shutting down")
	}
	q.Add("b")
	wantCode(t, q.Err(), ShuttingDown)
	wantNext(t, q, "a")
	wantShutDown(t, q)
	q.Done("a")
	wantShutDown(t, q)
}

func TestShutDownEndsEveryGet(t *testing.T) {
	q := memoryQueue(t)
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			wantShutDown(t, q)
		}()
	}
	eventually(t, "all wait", func() bool { return q.backend.waitingGets() == 20 })
	q.ShutDown()
	group.Wait()
}

// drain begins a ShutDownWithDrain, and closes the channel when it returns. During it Gets report
// shutdown, also while items are held.
func drain(t *testing.T, q *Queue[string]) <-chan bool {
	t.Helper()
	drained := inBackground(func() { q.ShutDownWithDrain() })
	eventually(t, "shutting down", q.ShuttingDown)
	wantShutDown(t, q)
	return drained
}

func TestShutDownWithDrainWaitsForDone(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	q.Add("b")
	wantNext(t, q, "a")
	wantNext(t, q, "b")
	drained := drain(t, q)
	q.Done("a")
	wantRunning(t, drained, "b is still held")
	q.Done("b")
	within(t, drained)
	must(t, q.Err())
}

func TestAddAfterNothingIsAdd(t *testing.T) {
	q := memoryQueue(t)
	q.AddAfter("a", 0)
	q.AddAfter("b", -time.Hour)
	wantNext(t, q, "a")
	wantNext(t, q, "b")
}

// limiter is a caller's own limiter: the delay of an item's n-th failure.
type testLimiter struct {
	mu     sync.Mutex
	delays []time.Duration
	failed map[string]int
}

func (l *testLimiter) When(item string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[item]++
	return l.delays[l.failed[item]-1]
}

func (l *testLimiter) Forget(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, item)
}

func (l *testLimiter) NumRequeues(item string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[item]
}

func TestAddRateLimitedAsksTheCallersLimiter(t *testing.T) {
	const second = 40 * time.Millisecond
	limiter := &testLimiter{delays: []time.Duration{0, second, time.Hour}, failed: map[string]int{}}
	q := openQueue(t, memoryStore(t), QueueOptions[string]{Limiter: limiter})
	q.AddRateLimited("a")
	wantNext(t, q, "a")
	q.Done("a")
	start := time.Now()
	q.AddRateLimited("a")
	wantNext(t, q, "a")
	if waited := time.Since(start); waited < second {
		t.Fatalf("it was handed out after %v", waited)
	}
	wantRequeues(t, q, "a", 2)
	q.Forget("a")
	if n, own := q.NumRequeues("a"), limiter.NumRequeues("a"); n != 0 || own != 0 {
		t.Fatalf("%d and %d requeues", n, own)
	}
	q.Done("a")
}

func TestErrorsAreSentToTheChannel(t *testing.T) {
	q := memoryQueue(t)
	q.Done("before") // Before the first call of Errors.
	failures := q.Errors()
	q.Add("")
	err := within(t, failures)
	wantCode(t, err, InvalidArgument)
	var e *Error
	if !errors.As(err, &e) || e.Message == "" || e.Code.Error() != "InvalidArgument" {
		t.Fatalf("%#v", err)
	}
	for i := 0; i < 10*failuresKept; i++ { // An unread channel blocks no call.
		q.Add("")
	}
	wantCode(t, q.Err(), InvalidArgument)
}
