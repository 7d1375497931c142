//go:build cgo

package wq

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The calls that client-go's queue does not have.

func TestAnItemHasTheCausesOfItsAdds(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	q := openQueue(t, memoryStore(t), QueueOptions[string]{})
	must(t, second(q.AddWith("a", AddOptions{Reason: "changed", TraceParent: trace})))
	must(t, second(q.AddBatch([]string{"a", "b"}, AddOptions{Reason: "owner"})))
	wantCode(t, second(q.AddWith("a", AddOptions{Reason: "line\n"})), InvalidArgument)
	wantCauses(t, q, "a", Cause{Reason: "changed", TraceParent: trace}, Cause{Reason: "owner"})
	wantCauses(t, q, "b", Cause{Reason: "owner"})
	wantNext(t, q, "a")
	q.AddRateLimited("a")
	must(t, q.Finish("a"))
	wantCauses(t, q, "a", Cause{Reason: "changed", TraceParent: trace}, Cause{Reason: "owner"})
	wantCode(t, second(q.Causes("c")), NotFound)
}

func TestLanesOfAListAndPriorities(t *testing.T) {
	store := memoryStore(t)
	q, err := OpenQueue(store, "lanes", QueueOptions[string]{Order: Lanes, Lanes: []Lane{5, -5}})
	must(t, err)
	must(t, second(q.AddBatch([]string{"low"}, AddOptions{Lane: InLane(-5)})))
	must(t, q.AddWithLane("high", 5))
	wantNext(t, q, "high")
	wantNext(t, q, "low")
	q, err = OpenQueue(store, "priorities", QueueOptions[string]{Order: Priorities})
	must(t, err)
	must(t, q.AddWithLane("a", -2147483648))
	must(t, q.AddWithLane("b", 2147483647))
	wantNext(t, q, "b")
	wantNext(t, q, "a")
}

func TestABatchReportsItsResult(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{MaxKeyBytes: 4})
	must(t, q.Quarantine("held", nil))
	result, err := q.AddBatch([]string{"a", "", "b", "a", "large", "held"}, AddOptions{})
	must(t, err)
	if result.Added != 2 || result.Deduplicated != 1 || result.Held != 1 || len(result.Refused) != 2 {
		t.Fatalf("%+v", result)
	}
	for i, index := range []int{1, 4} {
		if r := result.Refused[i]; r.Index != index || !errors.Is(r.Err, InvalidArgument) {
			t.Fatalf("%+v", r)
		}
	}
}

func TestOutcomesOfAdds(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{MaxRequeues: 1})
	for i, want := range []Outcome{Added, Deduplicated} {
		if outcome, err := q.AddWith("a", AddOptions{Durability: Power}); err != nil || outcome != want {
			t.Fatalf("%d: %v, %v", i, outcome, err)
		}
	}
	why := AddOptions{RateLimited: true, Failure: errors.New("it is\nbroken")}
	must(t, second(q.AddWith("a", why)))
	if outcome, err := q.AddWith("a", why); err != nil || outcome != Held {
		t.Fatalf("%v, %v", outcome, err)
	}
	kept, err := q.Quarantined()
	must(t, err)
	if len(kept) != 1 || kept[0].Failures != 2 || kept[0].LastError != "it is\nbroken" {
		t.Fatalf("%+v", kept)
	}
}

func TestQuarantineHoldsUntilReleaseOrDrop(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	q.Add("b")
	must(t, q.Quarantine("a", errors.New("why")))
	must(t, q.Quarantine("b", nil))
	wantLen(t, q, 0)
	q.Add("a")
	wantLen(t, q, 0)
	wantCounts(t, q, "2 quarantined")
	must(t, q.Release("a"))
	must(t, q.Drop("b"))
	wantCode(t, q.Release("b"), NotFound)
	wantCode(t, q.Drop("a"), NotFound)
	wantNext(t, q, "a")
}

// ownCounts is a limiter of the caller's: the failures of each item.
type ownCounts map[string]int

func (c ownCounts) When(item string) time.Duration {
	c[item]++
	return time.Hour
}
func (c ownCounts) Forget(item string)          { delete(c, item) }
func (c ownCounts) NumRequeues(item string) int { return c[item] }

func TestTheLimiterForgetsWhatIsQuarantined(t *testing.T) {
	for name, call := range map[string]func(*Queue[string]) error{
		"Quarantine":     func(q *Queue[string]) error { return q.Quarantine("bad", nil) },
		"AddRateLimited": func(q *Queue[string]) error { q.AddRateLimited("bad"); return nil },
		"Delete":         func(q *Queue[string]) error { return q.Delete("bad") },
	} {
		t.Run(name, func(t *testing.T) {
			counts := ownCounts{}
			q := openQueue(t, memoryStore(t), QueueOptions[string]{Limiter: counts, MaxRequeues: 1})
			q.AddRateLimited("bad")
			q.AddRateLimited("failing")
			must(t, call(q))
			if counts["bad"] != 0 || counts["failing"] != 1 {
				t.Fatal(counts)
			}
		})
	}
}

func TestAReleaseMayBeDelayed(t *testing.T) {
	q := memoryQueue(t)
	must(t, q.Quarantine("a", nil))
	must(t, q.ReleaseAfter("a", time.Hour))
	wantLen(t, q, 0)
	must(t, q.EndDelay("a"))
	wantNext(t, q, "a")
	wantCode(t, q.ReleaseAfter("a", time.Hour), NotFound)
}

func TestCursorsAreKept(t *testing.T) {
	q := memoryQueue(t)
	must(t, q.SetCursor("watch", "17\x00\xff"))
	must(t, q.SetCursor("empty", ""))
	value, err := q.Cursor("watch")
	must(t, err)
	all, err := q.Cursors()
	must(t, err)
	if value != "17\x00\xff" || len(all) != 2 || all["watch"] != value || all["empty"] != "" {
		t.Fatalf("%q, %q", value, all)
	}
	must(t, q.EraseCursor("empty"))
	wantCode(t, q.EraseCursor("empty"), NotFound)
	wantCode(t, second(q.Cursor("empty")), NotFound)
	for _, name := range []string{"", "a\x00b", "a b"} {
		wantCode(t, q.SetCursor(name, "x"), InvalidArgument)
		if _, err = q.Cursor(name); err == nil {
			t.Fatalf("the cursor %q exists", name)
		}
	}
}

func TestPauseHandsOutNothingUntilResume(t *testing.T) {
	q := memoryQueue(t)
	must(t, q.Pause(0))
	q.Add("a")
	wantNothing(t, q)
	got := waiting(t, q)
	must(t, q.Resume())
	wantFrom(t, got, "a")
	must(t, q.Pause(20*time.Millisecond))
	q.Add("b")
	wantNext(t, q, "b") // The pause ends by itself.
}

func TestDrainEndsWithItsContext(t *testing.T) {
	q := memoryQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := q.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	q.Done("a")
	must(t, q.Drain(context.Background()))

	ended, end := context.WithCancel(context.Background())
	end()
	for i := 0; i < 100; i++ { // Whichever begins first, the drain or its end.
		q := memoryQueue(t)
		q.Add("a")
		if err := q.Drain(ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
