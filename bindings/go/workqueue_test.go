//go:build cgo

package wq

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The behaviour that users of client-go's workqueue rely on, method by method.

func TestAddIsDeduplicatedAndFirstInFirstOut(t *testing.T) {
	q := memoryQueue(t)
	for _, item := range []string{"a", "b", "a", "c", "b"} {
		q.Add(item)
	}
	wantLen(t, q, 3)
	for _, item := range []string{"a", "b", "c"} {
		wantNext(t, q, item)
	}
	wantNothing(t, q)
}

func TestAddWhileProcessingIsHandedOutAfterDone(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	q.Add("a")
	q.Add("a")
	wantLen(t, q, 0) // Held: no other worker may get it.
	wantNothing(t, q)
	again, err := q.AddedAgain("a")
	must(t, err)
	if !again {
		t.Fatal("the item was added again")
	}
	q.Done("a")
	wantLen(t, q, 1)
	wantNext(t, q, "a")
	q.Done("a")
	wantLen(t, q, 0)
}

func TestLenDoesNotCountWhatIsHeldOrDelayed(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	q.Add("b")
	q.AddAfter("c", time.Hour)
	wantLen(t, q, 2)
	wantNext(t, q, "a")
	wantLen(t, q, 1)
	q.Done("a")
	wantLen(t, q, 1)
	counts, err := q.Counts()
	must(t, err)
	if counts.Queued != 1 || counts.Delayed != 1 || counts.Processing != 0 || counts.Dones != 1 {
		t.Fatalf("%+v", counts)
	}
}

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
	drained := make(chan bool)
	go func() {
		q.ShutDownWithDrain()
		close(drained)
	}()
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
	select {
	case <-drained:
		t.Fatal("b is still held")
	default:
	}
	q.Done("b")
	within(t, drained)
	must(t, q.Err())
}

func TestShutDownWithDrainHandsOutWhatWasAddedAgain(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	q.Add("a")
	drained := drain(t, q)
	q.Done("a")
	wantNext(t, q, "a")
	q.Done("a")
	within(t, drained)
	wantShutDown(t, q)
}

func TestShutDownEndsADrain(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	drained := drain(t, q)
	for ended := false; !ended; { // The drain may begin after the first ShutDown.
		q.ShutDown()
		select {
		case <-drained:
			ended = true
		case <-time.After(time.Millisecond):
		}
	}
	must(t, q.Err())
}

// The queue is shut down while workers add each item again that they hold.
func TestItemsAreAddedAgainUntilTheShutDown(t *testing.T) {
	for name, shutDown := range map[string]func(*Queue[int]){
		"ShutDown": (*Queue[int]).ShutDown, "ShutDownWithDrain": (*Queue[int]).ShutDownWithDrain,
	} {
		q, err := OpenQueue(memoryStore(t), name, QueueOptions[int]{})
		must(t, err)
		var adding, working sync.WaitGroup
		for i := 0; i < 50; i++ {
			adding.Add(1)
			go func(i int) {
				defer adding.Done()
				q.Add(i)
			}(i)
		}
		for i := 0; i < 10; i++ {
			working.Add(1)
			go func() {
				defer working.Done()
				seen := map[int]bool{}
				for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
					if !seen[item] {
						seen[item] = true
						q.Add(item)
					}
					q.Done(item)
				}
			}()
		}
		adding.Wait()
		shutDown(q)
		q.Add(-1)
		working.Wait()
		if n := q.Len(); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

func TestAddAfterIsNeverEarly(t *testing.T) {
	q := memoryQueue(t)
	const delay = 30 * time.Millisecond
	start := time.Now()
	q.AddAfter("a", delay)
	wantNext(t, q, "a")
	if waited := time.Since(start); waited < delay {
		t.Fatalf("it was handed out after %v", waited)
	}
}

func TestAddAfterNothingIsAdd(t *testing.T) {
	q := memoryQueue(t)
	q.AddAfter("a", 0)
	q.AddAfter("b", -time.Hour)
	wantNext(t, q, "a")
	wantNext(t, q, "b")
}

func TestOfTwoDelaysTheEarlierWins(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{})
	q.AddAfter("a", time.Hour)
	q.AddAfter("b", 20*time.Millisecond)
	q.AddAfter("a", 10*time.Millisecond)
	q.AddAfter("b", time.Hour)
	clock.Advance(20 * time.Millisecond)
	wantNext(t, q, "a")
	wantNext(t, q, "b")
	counts, err := q.Counts()
	must(t, err)
	if counts.Delayed != 0 {
		t.Fatalf("%+v", counts)
	}
}

func TestDelayedItemsAreHandedOutInTheOrderOfTheirEnds(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{})
	for i := 9; i >= 0; i-- {
		q.AddAfter(strconv.Itoa(i), time.Duration(i)*5*time.Millisecond)
	}
	clock.Advance(time.Second)
	for i := 0; i < 10; i++ {
		wantNext(t, q, strconv.Itoa(i))
	}
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
	if n := q.NumRequeues("a"); n != 2 {
		t.Fatalf("%d requeues", n)
	}
	q.Forget("a")
	if n, own := q.NumRequeues("a"), limiter.NumRequeues("a"); n != 0 || own != 0 {
		t.Fatalf("%d and %d requeues", n, own)
	}
	q.Done("a")
}

func TestBackoffWaitsLongerEachTime(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{
		Backoff: MaxWait(MaxOf(Exponential(10*time.Millisecond, time.Hour), Bucket(1000, 10)),
			40*time.Millisecond)})
	for i, least := range []time.Duration{10, 20, 40, 40} {
		start := time.Now()
		q.AddRateLimited("a")
		wantNext(t, q, "a")
		if waited := time.Since(start); waited < least*time.Millisecond {
			t.Fatalf("failure %d: it was handed out after %v", i+1, waited)
		}
		q.Done("a")
	}
	if n := q.NumRequeues("a"); n != 4 {
		t.Fatalf("%d requeues", n)
	}
}

func TestProducersAndConsumersMeet(t *testing.T) {
	q := memoryQueue(t)
	const producers, consumers, each = 8, 8, 200
	var mu sync.Mutex
	held, seen := map[string]bool{}, map[string]int{}
	var adding, working sync.WaitGroup
	for p := 0; p < producers; p++ {
		adding.Add(1)
		go func(p int) {
			defer adding.Done()
			for i := 0; i < each; i++ {
				q.Add(strconv.Itoa(p%4) + "/" + strconv.Itoa(i)) // Two producers add the same.
			}
		}(p)
	}
	for c := 0; c < consumers; c++ {
		working.Add(1)
		go func() {
			defer working.Done()
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if held[item] {
					t.Errorf("two workers hold %q", item)
				}
				held[item] = true
				seen[item]++
				mu.Unlock()
				mu.Lock()
				held[item] = false
				mu.Unlock()
				q.Done(item)
			}
		}()
	}
	adding.Wait()
	q.ShutDownWithDrain()
	working.Wait()
	if len(seen) != producers/2*each {
		t.Fatalf("%d items were handed out, want %d", len(seen), producers/2*each)
	}
	must(t, q.Err())
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
