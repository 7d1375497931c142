//go:build cgo

package wq

import (
	"testing"
	"time"
)

// clockedStore returns a store in memory with a manual clock.
func clockedStore(t *testing.T) (*ManualClock, *Store) {
	t.Helper()
	clock := NewManualClock(time.UnixMicro(1_700_000_000_000_000))
	store, err := OpenInMemory(StoreOptions{Clock: clock})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return clock, store
}

func clockedQueue(t *testing.T, options QueueOptions[string]) (*ManualClock, *Queue[string]) {
	t.Helper()
	clock, store := clockedStore(t)
	return clock, openQueue(t, store, options)
}

func TestDelaysGoByTheClock(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{})
	q.AddAfter("first", time.Second)
	q.AddAfter("third", 500*time.Hour)
	q.AddAfter("second", 300*time.Hour)
	clock.Advance(time.Second - time.Microsecond)
	wantNothing(t, q)
	clock.Advance(time.Microsecond)
	wantNext(t, q, "first")
	wantNothing(t, q)
	q.Done("first")
	q.AddAfter("first", 350*time.Hour) // Between the two.
	clock.Advance(400 * time.Hour)
	wantNext(t, q, "second")
	wantNext(t, q, "first")
	wantNothing(t, q)
	clock.Advance(100 * time.Hour)
	wantNext(t, q, "third")
	if passed := clock.Now().Sub(time.UnixMicro(1_700_000_000_000_000)); passed !=
		500*time.Hour+time.Second {
		t.Fatal(passed)
	}
}

func TestNoDelayIsRoundedToNothing(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{})
	must(t, q.Quarantine("a", nil))
	must(t, q.ReleaseAfter("a", 500*time.Nanosecond))
	wantNothing(t, q)
	clock.Advance(time.Microsecond)
	wantNext(t, q, "a")
}

func TestAGetThatWaitsIsWokenByTheClock(t *testing.T) {
	clock, q := clockedQueue(t, QueueOptions[string]{})
	got := waiting(t, q)
	q.AddAfter("a", 24*time.Hour)
	clock.Advance(24 * time.Hour)
	wantFrom(t, got, "a")
}

func TestAClockOutlivesItsStores(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	for i := 0; i < 3; i++ {
		store, err := OpenInMemory(StoreOptions{Clock: clock})
		must(t, err)
		clock.Advance(time.Second)
		must(t, store.Close())
		clock.Advance(time.Second)
	}
	if len(clock.stores) != 0 || !clock.Now().Equal(time.Unix(6, 0)) {
		t.Fatal(len(clock.stores), clock.Now())
	}
	defer func() {
		if recover() == nil {
			t.Fatal("the clock went back")
		}
	}()
	clock.Advance(-1)
}
