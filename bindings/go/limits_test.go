//go:build cgo

package wq

import "testing"

// Limits on hand-outs.

// byLetter is a GroupOf: the first letter.
func byLetter(item string) string { return item[:1] }

// wantNone fails if the queue hands out an item now.
func wantNone(t *testing.T, q *Queue[string]) {
	t.Helper()
	counts, err := q.Counts()
	must(t, err)
	if counts.Queued != counts.HeldBack {
		t.Fatalf("an item may be handed out: %+v", counts)
	}
}

func TestOptionsLimitGroupsAndTheQueue(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{GroupOf: byLetter,
		GroupLimits: GroupLimits{MaxProcessing: 1}, Limits: GroupLimits{MaxProcessing: 2}})
	for _, item := range []string{"a1", "a2", "b1", "c1"} {
		q.Add(item)
	}
	wantNext(t, q, "a1")
	wantNext(t, q, "b1")
	wantNone(t, q)
	q.Done("a1")
	wantNext(t, q, "a2")
}

func TestAnItemThatNoAddHasNamedIsInItsGroup(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{GroupOf: byLetter})
	must(t, q.Quarantine("a1", nil))
	must(t, q.Release("a1"))
	keys, err := q.List(1)
	must(t, err)
	if len(keys) != 1 || keys[0].Group != "a" {
		t.Fatalf("%+v", keys)
	}
}

func TestBadLimitsAreRefused(t *testing.T) {
	store := memoryStore(t)
	for _, bad := range []GroupLimits{{MaxProcessing: -1}, {PerSecond: -1}, {Burst: -1},
		{PerSecond: 1, Burst: 2000000}} {
		for _, options := range []QueueOptions[string]{{GroupLimits: bad}, {Limits: bad}} {
			wantCode(t, second(OpenQueue(store, "other", options)), InvalidArgument)
		}
	}
}
