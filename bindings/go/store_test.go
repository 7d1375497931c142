//go:build cgo

package wq

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAStoreKeepsItsQueues(t *testing.T) {
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("pending")
	q.Add("held")
	wantNext(t, q, "pending")
	q.Done("pending")
	wantNext(t, q, "held")
	q.AddAfter("delayed", time.Hour)
	q.AddRateLimited("failed")
	must(t, q.SetCursor("watch", "17"))
	uuid, err := store.UUID()
	must(t, err)
	must(t, store.Close())

	store = diskStore(t, dir)
	defer store.Close()
	names, err := store.QueueNames()
	must(t, err)
	if len(names) != 1 || names[0] != "q" {
		t.Fatalf("%q", names)
	}
	again, err := store.UUID()
	must(t, err)
	where, err := store.Dir()
	must(t, err)
	if again != uuid || where != dir {
		t.Fatalf("%q is not %q, or %q not %q", again, uuid, where, dir)
	}
	q = openQueue(t, store, QueueOptions[string]{MustExist: true})
	wantNext(t, q, "held")
	wantRequeues(t, q, "failed", 1)
	cursor, err := q.Cursor("watch")
	must(t, err)
	if cursor != "17" {
		t.Fatalf("%q", cursor)
	}
	must(t, q.EndDelay("delayed"))
	must(t, q.Err())
	must(t, store.Flush(Power))
	must(t, q.Flush(DefaultDurability))
	must(t, store.Health())
	must(t, store.Recover())
}

func TestOpeningIsRefused(t *testing.T) {
	dir := t.TempDir() + "/store"
	wantCode(t, second(Open(dir, StoreOptions{})), NotFound)
	wantCode(t, second(Open("a\x00b", StoreOptions{CreateIfMissing: true})), InvalidArgument)
	wantCode(t, second(Open(dir, StoreOptions{FlushInterval: -time.Second})), InvalidArgument)
	wantCode(t, second(Open(dir, StoreOptions{RecoveryBackoffMax: math.MaxInt64})), InvalidArgument)
	store := diskStore(t, dir)
	defer store.Close()
	wantCode(t, second(Open(dir, StoreOptions{})), Locked)
	wantCode(t, second(OpenQueue(store, "q", QueueOptions[string]{MustExist: true})), NotFound)
	openQueue(t, store, QueueOptions[string]{})
	wantCode(t, second(OpenQueue(store, "q", QueueOptions[string]{})), AlreadyExists)
	for _, name := range []string{"", "a/b", "a\x00b", strings.Repeat("x", 65)} {
		wantCode(t, second(OpenQueue(store, name, QueueOptions[string]{})), InvalidArgument)
	}
	for _, bad := range []QueueOptions[string]{{Order: 99}, {Durability: 9}, {MaxKeyBytes: -1},
		{Backoff: MaxOf()}, {Backoff: MaxOf(nil)}} {
		if err := second(OpenQueue(store, "bad", bad)); !errors.Is(err, InvalidArgument) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestCallsAfterCloseReturnShuttingDown(t *testing.T) {
	store, err := OpenInMemory(StoreOptions{})
	must(t, err)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("a")
	wantNext(t, q, "a")
	must(t, store.Close())
	must(t, store.Close())
	wantShutDown(t, q)
	must(t, q.Err())
	ctx := context.Background()
	for name, err := range map[string]error{
		"AddWith":    second(q.AddWith("b", AddOptions{})),
		"AddBatch":   second(q.AddBatch([]string{"b"}, AddOptions{})),
		"GetContext": second(q.GetContext(ctx)), "GetBatch": second(q.GetBatch(ctx, 2)),
		"Finish": q.Finish("a"), "FinishBatch": q.FinishBatch([]string{"a"}), "Drain": q.Drain(ctx),
		"Counts": second(q.Counts()), "List": second(q.List(1)), "Cursors": second(q.Cursors()),
		"Quarantined": second(q.Quarantined()), "SetCursor": q.SetCursor("c", "v"),
		"Flush": q.Flush(Process), "Health": store.Health(),
		"OpenQueue": second(OpenQueue(store, "other", QueueOptions[string]{})),
	} {
		if codeOf(err) != ShuttingDown {
			t.Errorf("%s: %v", name, err)
		}
	}
	q.Add("b")
	wantCode(t, q.Err(), ShuttingDown)
	if !q.ShuttingDown() || q.Len() != 0 {
		t.Fatal("a closed store's queue is not shutting down")
	}
	q.ShutDown()
	q.ShutDownWithDrain()
	must(t, q.Close())
}

// descriptors returns the number of open descriptors.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(open)
}

func TestOpeningAndClosingLeavesNothing(t *testing.T) {
	dir := t.TempDir() + "/store"
	cycle := func() {
		store := diskStore(t, dir)
		q := openQueue(t, store, QueueOptions[string]{})
		q.Add("a")
		wantNext(t, q, "a")
		q.Done("a")
		must(t, store.Close())
	}
	cycle()
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for i := 0; i < 20; i++ {
		cycle()
	}
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := descriptors(t); now > files {
		t.Fatalf("%d descriptors became %d", files, now)
	}
}

func TestDeleteQueueLeavesNothingOfIt(t *testing.T) {
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("a")
	wantCode(t, store.DeleteQueue("q"), Locked) // It is open.
	must(t, store.Close())

	store = diskStore(t, dir)
	defer store.Close()
	must(t, store.DeleteQueue("q"))
	wantCode(t, store.DeleteQueue("q"), NotFound)
	wantCode(t, store.DeleteQueue("no name"), InvalidArgument)
	wantCode(t, store.DeleteQueue("a\x00b"), InvalidArgument)
	names, err := store.QueueNames()
	must(t, err)
	if len(names) != 0 {
		t.Fatalf("left: %q", names)
	}
}
