//go:build cgo

package wq

import (
	"errors"
	"testing"
	"time"
)

// Flow control: what the options do.

func TestAddsAreDebounced(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{
		Debounce: Debounce{Quiet: time.Hour, MaxWait: time.Hour}})
	q.Add("gathered")
	must(t, second(q.AddWith("now", AddOptions{Debounce: &Debounce{}})))
	wantCounts(t, q, "1 queued 1 delayed")
	wantNext(t, q, "now")
}

func TestItemsAreResynced(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{
		Resync: Resync{Period: time.Millisecond, Jitter: 0.5}})
	q.Add("a")
	for i := 0; i < 3; i++ {
		wantNext(t, q, "a")
		q.Done("a")
	}
	must(t, second(q.AddWith("b", AddOptions{After: time.Hour, DelayMode: ResyncLater})))
	counts, err := q.Counts()
	must(t, err)
	if counts.Resyncs < 1 {
		t.Fatalf("%+v", counts)
	}
}

func TestALaterReminderReplacesAnEarlierOne(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{})
	for _, call := range []struct {
		mode DelayMode
		want Outcome
	}{{Earliest, Added}, {Earliest, Deduplicated}, {Replace, Added}} {
		outcome, err := q.AddWith("a", AddOptions{After: time.Hour, DelayMode: call.mode})
		if err != nil || outcome != call.want {
			t.Fatalf("%v: %v, %v", call.mode, outcome, err)
		}
	}
}

func TestAnAddIfAbsentLeavesADelayedItemAlone(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{})
	q.AddAfter("delayed", time.Hour)
	must(t, second(q.AddBatch([]string{"delayed", "new"}, AddOptions{IfAbsent: true})))
	wantCounts(t, q, "1 queued 1 delayed")
}

func TestAnAddWaitsForRoom(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{MaxPending: 1})
	q.Add("a")
	wantCode(t, second(q.AddWith("b", AddOptions{WaitForRoom: -1})), Full)
	result, err := q.AddBatch([]string{"a", "b"}, AddOptions{WaitForRoom: -1})
	must(t, err)
	if len(result.Refused) != 1 || !errors.Is(result.Refused[0].Err, Full) {
		t.Fatalf("%+v", result)
	}
	added := inBackground(func() { q.Add("b") })
	for counts, _ := q.Counts(); counts.Full < 3; counts, _ = q.Counts() {
	}
	wantNext(t, q, "a")
	q.Done("a")
	<-added
	wantNext(t, q, "b")
}

func TestAStuckItemIsCounted(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{StuckAfter: time.Microsecond})
	q.Add("a")
	item, _ := q.Get()
	for counts, err := q.Counts(); counts.Stuck != 1; counts, err = q.Counts() {
		must(t, err)
	}
	q.Done(item)
}
