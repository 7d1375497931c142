//go:build cgo

package wq

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

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
	status, err := q.GroupStatus("")
	must(t, err)
	want := GroupStatus{Limits: GroupLimits{MaxProcessing: 2, Burst: 1, Weight: 1}, Processing: 2,
		HeldBack: true}
	if status != want {
		t.Fatalf("%+v", status)
	}
	q.Done("a1")
	wantNext(t, q, "a2")
}

func TestLimitsAreSetReadAndSurvive(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(dir+"/s", StoreOptions{CreateIfMissing: true})
	must(t, err)
	q := openQueue(t, store, QueueOptions[string]{GroupOf: byLetter})
	ofA := GroupLimits{MaxProcessing: 1, PerSecond: 0.5, Burst: 10, Weight: 2}
	must(t, q.SetLimits("a", &ofA))
	must(t, q.SetLimits("b", &GroupLimits{}))
	must(t, q.SetLimits("", &GroupLimits{PerSecond: 100, Burst: 3}))
	must(t, q.SetLimits("b", nil))
	want := map[string]GroupLimits{"a": ofA, "": {PerSecond: 100, Burst: 3, Weight: 1}}
	limits, err := q.Limits()
	must(t, err)
	if !reflect.DeepEqual(limits, want) {
		t.Fatalf("%+v", limits)
	}
	must(t, store.Close())
}

func TestARateHoldsAGroupBack(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{GroupOf: byLetter})
	must(t, q.SetLimits("a", &GroupLimits{PerSecond: 0.001, Burst: 2}))
	for _, item := range []string{"a1", "a2", "a3", "b"} {
		q.Add(item)
	}
	for _, item := range []string{"a1", "a2", "b"} {
		wantNext(t, q, item)
	}
	wantNone(t, q)
	status, err := q.GroupStatus("a")
	must(t, err)
	if !status.OwnLimits || !status.HeldBack || status.NextIn <= 0 ||
		status.NextIn > 1000*time.Second {
		t.Fatalf("%+v", status)
	}
}

func TestFairGroupsHaveWeights(t *testing.T) {
	q := openQueue(t, memoryStore(t), QueueOptions[string]{GroupOf: byLetter, Order: Fair,
		Lanes: []Lane{5}})
	must(t, q.SetLimits("b", &GroupLimits{Weight: 2}))
	for _, item := range []string{"a1", "a2", "a3", "b1", "b2", "b3"} {
		q.Add(item)
	}
	must(t, q.AddWithLane("c", 5))
	wantNext(t, q, "c")
	groups := ""
	for i := 0; i < 3; i++ {
		item, _ := q.Get()
		groups += byLetter(item)
	}
	if strings.Count(groups, "b") != 2 {
		t.Fatal(groups)
	}
}

func TestBadLimitsAreRefused(t *testing.T) {
	store := memoryStore(t)
	q := openQueue(t, store, QueueOptions[string]{})
	for _, bad := range []GroupLimits{{MaxProcessing: -1}, {PerSecond: -1}, {Burst: -1},
		{PerSecond: 1, Burst: 2000000}, {Weight: 1001}, {Weight: -1}} {
		bad := bad
		wantCode(t, q.SetLimits("a", &bad), InvalidArgument)
		_, err := OpenQueue(store, "other", QueueOptions[string]{GroupLimits: bad})
		wantCode(t, err, InvalidArgument)
	}
	wantCode(t, q.SetLimits(strings.Repeat("g", 1025), nil), InvalidArgument)
	_, err := OpenQueue(store, "other", QueueOptions[string]{Limits: GroupLimits{Weight: -1}})
	wantCode(t, err, InvalidArgument)
}
