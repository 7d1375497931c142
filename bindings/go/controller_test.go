//go:build cgo

package wq

import (
	"strings"
	"testing"
	"time"
)

func TestNewPriorityQueueFitsNewQueue(t *testing.T) {
	store := memoryStore(t)
	options := controllerOptions{NewQueue: func(name string,
		_ typedRateLimiter[request]) typedRateLimitingInterface[request] {
		return NewPriorityQueue[addOpts](store, name, QueueOptions[request]{})
	}}
	q, ok := options.NewQueue("pods", fixedDelay[request](0)).(priorityQueue[request])
	if !ok {
		t.Fatal("controller-runtime would not see a priority queue")
	}
	low, high := request{namespacedName{"", "low"}}, request{namespacedName{"", "high"}}
	q.AddWithOpts(addOpts{Priority: at(-100)}, low)
	q.AddWithOpts(addOpts{Priority: at(1)}, high)
	if got, _, shutdown := q.GetWithPriority(); shutdown || got != high {
		t.Fatal(got, shutdown)
	}
}

func TestAControllersQueueStopsOnShutDown(t *testing.T) {
	q := NewPriorityQueue[addOpts](memoryStore(t), "q", QueueOptions[string]{})
	q.Add("a")
	q.Add("b")
	if item, shutdown := q.Get(); shutdown || item != "a" {
		t.Fatal(item, shutdown)
	}
	q.ShutDownWithDrain() // Waits neither for the held item nor for the queued one.
	if item, shutdown := q.Get(); !shutdown {
		t.Fatalf("got %q", item)
	}
	q.Done("a")
	must(t, q.Err())
	wantLen(t, q.Queue, 1)
}

func TestAControllerMayHaveAnyName(t *testing.T) {
	store := memoryStore(t)
	seen := map[string]string{}
	for _, name := range []string{
		"pod", "A.b_c-9", strings.Repeat("n", 64), "apps/v1.Deployment", "apps.v1.Deployment",
		"apps v1 Deployment", "Größe", strings.Repeat("n", 65), strings.Repeat("n", 66), "a\x00b", "/",
	} {
		q := NewPriorityQueue[addOpts](store, name, QueueOptions[request]{})
		if other, twice := seen[q.Name()]; twice || q.Name() != QueueName(name) {
			t.Errorf("%q and %q have the queue %q", other, name, q.Name())
		}
		seen[q.Name()] = name
	}
	for name, want := range map[string]string{
		"pod":                   "pod",
		strings.Repeat("n", 64): strings.Repeat("n", 64),
		// Names are on disk: they never change.
		"apps/v1.Deployment":    "apps-v1.Deployment-45ad505b07ea7d01",
		strings.Repeat("n", 65): strings.Repeat("n", 47) + "-",
		"":                      "",
	} {
		if got := QueueName(name); !strings.HasPrefix(got, want) || len(got) > 64 {
			t.Errorf("the queue of %q is %q, want %q", name, got, want)
		}
	}
}

func TestAControllerMayHaveAnyComparableRequest(t *testing.T) {
	store := memoryStore(t)
	q := NewPriorityQueue[addOpts](store, "clusters", QueueOptions[clusterRequest]{})
	want := clusterRequest{request{namespacedName{"default", "pod"}}, "east"}
	q.Add(want)
	if got, shutdown := q.Get(); shutdown || got != want {
		t.Fatal(got, shutdown)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `"floats"`) {
			t.Fatalf("the panic says %q", text)
		}
	}()
	NewPriorityQueue[addOpts](store, "floats", QueueOptions[float64]{})
}

// laterAddOpts is what a later controller-runtime may have.
type laterAddOpts struct {
	Deadline    time.Duration
	Priority    *int
	After       time.Duration
	Reason      string
	RateLimited bool
}

func TestAddOptsMayGetFields(t *testing.T) {
	q, err := OpenPriorityQueue[string, laterAddOpts](memoryStore(t), "q", QueueOptions[string]{})
	must(t, err)
	q.AddWithOpts(laterAddOpts{Priority: at(1)}, "a")
	q.AddWithOpts(laterAddOpts{After: time.Hour}, "later")
	q.AddWithOpts(laterAddOpts{RateLimited: true}, "failed")
	must(t, q.Err())
	if q.NumRequeues("failed") != 1 || q.NumRequeues("later") != 0 {
		t.Fatal("RateLimited was not read")
	}
	counts, err := q.Counts()
	must(t, err)
	if counts.Delayed < 1 {
		t.Fatalf("%+v", counts)
	}
	q.AddWithOpts(laterAddOpts{Priority: at(7), Reason: "new"}, "b")
	wantCode(t, q.Err(), InvalidArgument)
	if !strings.Contains(q.Err().Error(), "Reason") {
		t.Fatal(q.Err())
	}
	if got, _ := q.Get(); got != "b" { // It was added, with the fields that are known.
		t.Fatal(got)
	}
}

// As in controller-runtime before v0.22.
func TestThePriorityOfAddOptsMayBeAnInt(t *testing.T) {
	type earlierAddOpts struct {
		After       time.Duration
		RateLimited bool
		Priority    int
	}
	q, err := OpenPriorityQueue[string, earlierAddOpts](
		memoryStore(t), "q", QueueOptions[string]{})
	must(t, err)
	q.AddWithOpts(earlierAddOpts{}, "low")
	q.AddWithOpts(earlierAddOpts{Priority: 3}, "high")
	must(t, q.Err())
	if got, priority, _ := q.GetWithPriority(); got != "high" || priority != 3 {
		t.Fatal(got, priority)
	}
}

func TestAnItemThatACodecRefusesIsNamed(t *testing.T) {
	q, err := OpenPriorityQueue[int, laterAddOpts](
		memoryStore(t), "q", QueueOptions[int]{Codec: numbers{}})
	must(t, err)
	q.AddWithOpts(laterAddOpts{}, 7, -8)
	wantCode(t, q.Err(), InvalidArgument)
	for _, part := range []string{"item 2 of 2", "-8", "negative"} {
		if !strings.Contains(q.Err().Error(), part) {
			t.Fatal(q.Err())
		}
	}
}

func TestNewQueueMergesDelays(t *testing.T) {
	q := NewQueue[string](memoryStore(t), "q", nil)
	q.AddAfter("a", time.Hour)
	q.Add("a")
	wantCounts(t, q, "1 queued")
}

func TestOptionsOfAnotherShapeAreRefused(t *testing.T) {
	store := memoryStore(t)
	type noPriority struct {
		After       time.Duration
		RateLimited bool
	}
	type otherType struct {
		After       time.Duration
		RateLimited bool
		Priority    string
	}
	for want, err := range map[string]error{
		"noPriority has no Priority *int": second(
			OpenPriorityQueue[string, noPriority](store, "q", QueueOptions[string]{})),
		"otherType has no Priority *int": second(
			OpenPriorityQueue[string, otherType](store, "q", QueueOptions[string]{})),
		"int is no struct": second(
			OpenPriorityQueue[string, int](store, "q", QueueOptions[string]{})),
	} {
		wantCode(t, err, InvalidArgument)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestControllerBackoffIsClientGosDefault(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{Backoff: ControllerBackoff()})
	for _, delay := range []time.Duration{5, 10, 20} {
		q.AddRateLimited("a")
		clock.Advance(delay*time.Millisecond - time.Microsecond)
		wantNothing(t, q)
		clock.Advance(time.Microsecond)
		wantNext(t, q, "a")
		q.Done("a")
	}
	for i := 0; i < 110; i++ { // More than the bucket of 100 tokens has.
		q.AddRateLimited(strings.Repeat("b", i+1))
	}
	clock.Advance(20 * time.Millisecond)
	if n := q.Len(); n < 90 || n > 100 {
		t.Fatalf("%d of 110 first failures waited for 5 ms only", n)
	}
}
