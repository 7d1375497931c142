//go:build cgo

package wq

import (
	"strconv"
	"strings"
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

// wantAt checks that the next item is this one, with this priority. It stays held.
func wantAt(t *testing.T, q priorityQueue[string], item string, priority int) {
	t.Helper()
	got, gotPriority, shutdown := q.GetWithPriority()
	if shutdown || got != item || gotPriority != priority {
		t.Fatalf("got %q at %d (%v), want %q at %d", got, gotPriority, shutdown, item, priority)
	}
}

func clockedPriorityQueue(t *testing.T) (*ManualClock, *Queue[string], priorityQueue[string]) {
	t.Helper()
	clock, store := clockedStore(t)
	q, err := OpenPriorityQueue[string, addOpts](store, "q", QueueOptions[string]{
		Backoff: Exponential(time.Minute, time.Hour)})
	must(t, err)
	return clock, q.Queue, q
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
}

func TestAnItemThatCannotBeAddedIsNamed(t *testing.T) {
	plain, q := openPriorityQueue(t)
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		options addOpts
		item    string
		name    string
	}{
		{addOpts{}, "", `item 2 of 3, "": `},
		{addOpts{After: time.Nanosecond}, "", `item 2 of 3, "": `},
		{addOpts{RateLimited: true}, "", `item 2 of 3, "": `},
		{addOpts{}, long, `item 2 of 3, "xxx`},
	} {
		q.AddWithOpts(c.options, "a", c.item, "b")
		err := plain.Err()
		wantCode(t, err, InvalidArgument)
		if !strings.Contains(err.Error(), c.name) || len(err.Error()) > 1000 {
			t.Fatalf("%d bytes, %.300q, without %q", len(err.Error()), err, c.name)
		}
		eventually(t, "the others are added", func() bool { return q.Len() == 2 })
		wantOrder(t, q, "a", "b")
	}
}

// --- One hand-out for all Adds since the last: the highest priority, the earliest time ---

func TestTheHighestPriorityAndTheEarliestTimeCount(t *testing.T) {
	add := func(priority int, after time.Duration) addOpts {
		return addOpts{Priority: at(priority), After: after}
	}
	backoff := addOpts{RateLimited: true, Priority: at(5)} // A minute.
	for name, c := range map[string]struct {
		first, second addOpts
		after         time.Duration // The item is handed out after this time, and not earlier,
		priority      int           // with this priority, and not again.
	}{
		"sooner and lower":     {add(10, time.Minute), add(2, time.Second), time.Second, 10},
		"later and higher":     {add(2, time.Second), add(10, time.Minute), time.Second, 10},
		"later and lower":      {add(10, time.Second), add(2, time.Minute), time.Second, 10},
		"sooner and higher":    {add(2, time.Minute), add(10, time.Second), time.Second, 10},
		"delayed, then added":  {add(10, time.Second), add(2, 0), 0, 10},
		"added, then delayed":  {add(2, 0), add(10, time.Hour), 0, 10},
		"delayed at a lower":   {add(10, 0), add(2, time.Hour), 0, 10},
		"event during backoff": {backoff, addOpts{}, 0, 5},
		"backoff after event":  {addOpts{}, backoff, 0, 5},
		"no priority is 0":     {add(-5, 0), addOpts{}, 0, 0},
		"a negative delay":     {add(1, time.Hour), add(0, -time.Second), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock, plain, q := clockedPriorityQueue(t)
			q.AddWithOpts(c.first, "a")
			q.AddWithOpts(c.second, "a")
			if c.after > 0 {
				clock.Advance(c.after - time.Microsecond)
				wantNothing(t, plain)
				clock.Advance(time.Microsecond)
			}
			wantAt(t, q, "a", c.priority)
			q.Done("a")
			clock.Advance(2 * time.Hour)
			wantNothing(t, plain)
			must(t, plain.Err())
		})
	}
}

func TestAnItemAddedWhileHeldStartsAnew(t *testing.T) {
	clock, plain, q := clockedPriorityQueue(t)
	q.AddWithOpts(addOpts{Priority: at(10)}, "a")
	wantAt(t, q, "a", 10)
	q.AddWithOpts(addOpts{Priority: at(2)}, "a")
	q.Done("a")
	wantAt(t, q, "a", 2)

	q.AddWithOpts(addOpts{Priority: at(1), After: time.Second}, "a")
	clock.Advance(time.Second)
	q.AddWithOpts(addOpts{Priority: at(-1)}, "a") // The delay has ended: 1 is higher.
	q.Done("a")
	wantAt(t, q, "a", 1)

	q.AddWithOpts(addOpts{Priority: at(7), After: time.Hour}, "a")
	q.AddWithOpts(addOpts{Priority: at(6)}, "a")
	q.Done("a")
	wantAt(t, q, "a", 7)
	q.Done("a")
	clock.Advance(time.Hour)
	wantNothing(t, plain)
}

func TestEveryGetReturnsThePriority(t *testing.T) {
	_, q := openPriorityQueue(t)
	const waiting = 300 // More than one poll.
	got := make(chan int, waiting)
	for i := 0; i < waiting; i++ {
		go func() {
			item, priority, _ := q.GetWithPriority()
			q.Done(item)
			got <- priority
		}()
	}
	eventually(t, "all wait", func() bool {
		return q.(*PriorityQueue[string, addOpts]).backend.waitingGets() == waiting
	})
	for i := 0; i < waiting; i++ {
		q.AddWithOpts(addOpts{Priority: at(i)}, "item "+strconv.Itoa(i))
	}
	seen := map[int]bool{}
	for i := 0; i < waiting; i++ {
		seen[within(t, got)] = true
	}
	if len(seen) != waiting || !seen[0] || !seen[waiting-1] {
		t.Fatalf("%d priorities of %d", len(seen), waiting)
	}
	q.ShutDown()
	if item, priority, shutdown := q.GetWithPriority(); item != "" || priority != 0 || !shutdown {
		t.Fatalf("got %q at %d (%v)", item, priority, shutdown)
	}
}

// --- Delays ---

func TestAfterBoundsTheBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		limiter     RateLimiter[string]
		after, want time.Duration
	}{
		"none":        {nil, 0, time.Minute},
		"shorter":     {nil, time.Second, time.Second},
		"longer":      {nil, time.Hour, time.Minute},
		"no delay":    {nil, -1, 0},
		"own limiter": {fixedDelay[string](time.Minute), time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			clock, plain, q := clockedPriorityQueue(t)
			plain.limiter = c.limiter
			q.AddWithOpts(addOpts{RateLimited: true, After: c.after}, "a")
			wantRequeues(t, q, "a", 1)
			if c.want > 0 {
				clock.Advance(c.want - time.Microsecond)
				wantNothing(t, plain)
				clock.Advance(time.Microsecond)
			}
			wantAt(t, q, "a", 0)
		})
	}
}

func TestEqualTimesAreInTheOrderOfTheAdds(t *testing.T) {
	clock, _, q := clockedPriorityQueue(t)
	q.AddWithOpts(addOpts{After: time.Second}, "c", "a", "b")
	clock.Advance(time.Second)
	wantOrder(t, q, "c", "a", "b")
}

// --- Where it differs from controller-runtime's: the rows of the table in README.md ---

func TestLenHasNoHeldItems(t *testing.T) {
	_, q := openPriorityQueue(t)
	q.Add("a")
	wantAt(t, q, "a", 0)
	q.Add("a")
	if n := q.Len(); n != 0 { // There: 1.
		t.Fatal(n)
	}
	q.Done("a")
	if n := q.Len(); n != 1 {
		t.Fatal(n)
	}
}

func TestAnItemAddedWhileHeldIsQueuedAtDone(t *testing.T) {
	_, q := openPriorityQueue(t)
	q.Add("a")
	wantAt(t, q, "a", 0)
	q.Add("a")
	q.Add("b")
	q.Done("a")
	wantOrder(t, q, "b", "a") // There: a, b.
}

func TestADelayedItemThatIsAddedIsQueuedByThatAdd(t *testing.T) {
	_, _, q := clockedPriorityQueue(t)
	q.AddAfter("a", time.Hour)
	q.Add("b")
	q.Add("a")
	wantOrder(t, q, "b", "a") // There: a, b.
}

func TestWhatIsQueuedIsHandedOutAfterShutDown(t *testing.T) {
	_, q := openPriorityQueue(t)
	q.Add("a")
	q.ShutDown()
	wantOrder(t, q, "a") // There: nothing.
	if _, _, shutdown := q.GetWithPriority(); !shutdown {
		t.Fatal("it is not shut down")
	}
}

func TestAHeldItemAndItsDelaySurviveApart(t *testing.T) {
	dir := t.TempDir() + "/store"
	clock := NewManualClock(time.UnixMicro(1_700_000_000_000_000))
	open := func() (*Store, *PriorityQueue[string, addOpts]) {
		store, err := Open(dir, StoreOptions{CreateIfMissing: true, Clock: clock})
		must(t, err)
		q, err := OpenPriorityQueue[string, addOpts](store, "q", QueueOptions[string]{})
		must(t, err)
		return store, q
	}
	store, q := open()
	q.AddWithOpts(addOpts{Priority: at(3)}, "a")
	wantAt(t, q, "a", 3)
	q.AddWithOpts(addOpts{Priority: at(4), After: time.Hour}, "a")
	must(t, store.Close()) // As a kill: the item is held.
	store, q = open()
	defer func() { must(t, store.Close()) }()
	wantAt(t, q, "a", 3)
	q.Done("a")
	clock.Advance(time.Hour)
	wantAt(t, q, "a", 4)
}
