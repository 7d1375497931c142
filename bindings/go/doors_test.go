package wq

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What a linked queue and a remote one have in common.

func TestAddIsDeduplicatedAndFirstInFirstOut(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		for _, item := range []string{"a", "b", "a", "c\x00\xff", "b"} {
			q.Add(item)
		}
		wantLen(t, q, 3)
		for _, item := range []string{"a", "b", "c\x00\xff"} {
			wantNext(t, q, item)
			must(t, q.Finish(item))
		}
		wantLen(t, q, 0)
		must(t, q.Err())
	})
}

func TestAddWhileProcessingIsHandedOutAfterDone(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		q.Add("a")
		wantNext(t, q, "a")
		for adds := 0; adds < 3; adds++ {
			again, err := q.AddedAgain("a")
			must(t, err)
			if again != (adds > 0) {
				t.Fatalf("added again after %d adds: %v", adds, again)
			}
			q.Add("a")
		}
		wantLen(t, q, 0) // Held: no other worker may get it.
		q.Done("a")
		wantLen(t, q, 1)
		wantNext(t, q, "a")
		q.Done("a")
		wantLen(t, q, 0)
		must(t, q.Err())
	})
}

func TestBatchesAreAddedTakenAndFinished(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		result, err := q.AddBatch([]string{"a", "", "b\x00", "a"}, AddOptions{})
		must(t, err)
		if result.Added != 2 || result.Deduplicated != 1 || len(result.Refused) != 1 ||
			result.Refused[0].Index != 1 || !errors.Is(result.Refused[0].Err, InvalidArgument) {
			t.Fatalf("%+v", result)
		}
		result, err = q.AddBatch(nil, AddOptions{})
		must(t, err)
		if result.Added != 0 {
			t.Fatalf("%+v", result)
		}
		wantCode(t, second(q.AddBatch([]string{"a"}, AddOptions{After: time.Second})),
			InvalidArgument)
		ctx := context.Background()
		wantCode(t, second(q.GetBatch(ctx, 0)), InvalidArgument)
		var items []string
		for len(items) < 2 {
			more, err := q.GetBatch(ctx, 10)
			must(t, err)
			items = append(items, more...)
		}
		if !reflect.DeepEqual(items, []string{"a", "b\x00"}) {
			t.Fatalf("%q", items)
		}
		waits := make(chan []string)
		go func() {
			items, _ := q.GetBatch(ctx, math.MaxInt)
			waits <- items
		}()
		eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
		q.Add("c")
		if items = within(t, waits); !reflect.DeepEqual(items, []string{"c"}) {
			t.Fatalf("%q", items)
		}
		wantCode(t, q.FinishBatch([]string{"a", "d", "b\x00"}), NotProcessing)
		must(t, q.FinishBatch(nil))
		wantCounts(t, q, "1 processing")
	})
}

func TestABatchHasItemsOfManyGroups(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{GroupOf: func(item string) string {
			if item == "odd" {
				return strings.Repeat("g", 1025)
			}
			return item[:1]
		}})
		result, err := q.AddBatch([]string{"a1", "odd", "b1", "a2", "b2", strings.Repeat("c", 5000),
			"a1"}, AddOptions{})
		must(t, err)
		if result.Added != 4 || result.Deduplicated != 1 || len(result.Refused) != 2 ||
			result.Refused[0].Index != 1 || result.Refused[1].Index != 5 {
			t.Fatalf("%+v", result)
		}
		want := []string{"a1", "b1", "a2", "b2"}
		if _, remote := at.(*Client); remote {
			want = []string{"a1", "a2", "b1", "b2"} // A call of each group.
		}
		for _, item := range want {
			wantNext(t, q, item)
		}
		must(t, q.Err())
	})
}

// A worker that panics has not reconciled its item.
func TestADeferredDoneOfAPanicCountsAFailure(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		q.Add("a")
		wantNext(t, q, "a")
		passed := func() (cause any) {
			defer func() { cause = recover() }()
			defer q.Done("a")
			panic("boom")
		}()
		if passed != "boom" {
			t.Fatal(passed)
		}
		wantNext(t, q, "a") // A remote Done does not wait for the server.
		wantRequeues(t, q, "a", 1)
		must(t, q.Finish("a"))
		must(t, q.Err())
	})
}

// numbers is a user's codec.
type numbers struct{}

func (numbers) Encode(item int) (string, error) {
	if item < 0 {
		return "", errors.New("negative")
	}
	return strconv.Itoa(item), nil
}
func (numbers) Decode(key string) (int, error) { return strconv.Atoi(key) }

func TestAKeyThatIsNoItemIsQuarantined(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q, err := OpenQueue(at, "q", QueueOptions[int]{Codec: numbers{}})
		must(t, err)
		// As wqctl.
		raw := &Queue[string]{
			backend: q.backend, codec: stringCodec[string]{}, failures: q.failures}
		raw.Add("seven")
		q.Add(7)
		item, shutdown := q.Get()
		if shutdown || item != 7 {
			t.Fatalf("got %v, %v", item, shutdown)
		}
		wantCode(t, q.Err(), InvalidArgument)
		kept, err := q.Quarantined()
		must(t, err)
		if len(kept) != 1 || kept[0].Key != "seven" || kept[0].LastError == "" ||
			kept[0].Quarantined.IsZero() {
			t.Fatalf("%+v", kept)
		}
		quarantined, err := raw.IsQuarantined("seven")
		must(t, err)
		outcome, err := raw.AddWith("seven", AddOptions{})
		if !quarantined || outcome != Held {
			t.Fatal(quarantined, outcome, err)
		}
		wantCounts(t, raw, "1 processing 1 quarantined")
		q.Add(-1)
		if q.Err().Error() != "negative" {
			t.Fatal(q.Err())
		}
	})
}

func TestCancelling(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		q.Add("a")
		must(t, q.Remove("a"))
		wantCode(t, q.Remove("a"), NotFound)
		q.AddAfter("b", time.Hour)
		q.AddAfter("c", time.Hour)
		must(t, q.CancelDelay("b"))
		wantCode(t, q.CancelDelay("b"), NotFound)
		must(t, q.EndDelay("c"))
		wantCode(t, q.EndDelay("c"), NotFound)
		wantNext(t, q, "c")
		q.Forget("c") // It has no failures.
		must(t, q.Err())
	})
}

func TestAGetEndsWithItsContext(t *testing.T) {
	onDoors(t, func(t *testing.T, at Opener) {
		q := openQueue(t, at, QueueOptions[string]{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 2)
		go func() { ended <- second(q.GetContext(ctx)) }()
		go func() { ended <- second(q.GetBatch(ctx, 3)) }()
		eventually(t, "both wait", func() bool { return q.backend.waitingGets() == 2 })
		cancel()
		for i := 0; i < 2; i++ {
			if err := within(t, ended); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		q.Add("a")
		if err := second(q.GetContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		wantNext(t, q, "a") // It was not taken.
	})
}
