//go:build cgo

package wq

import (
	"context"
	"strings"
	"testing"
	"time"
)

// openReplica opens a replica of the store whose log this is.
func openReplica(t *testing.T, log *ReplicatedLog, name string, changes chan<- Leadership) *Store {
	t.Helper()
	store, err := Open(t.TempDir()+"/store", StoreOptions{CreateIfMissing: true,
		Replication: &Replication{Log: log, Name: name, Lease: time.Minute,
			OnLeadership: func(change Leadership) { changes <- change }}})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

func waitForLeadership(t *testing.T, store *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, store.WaitForLeadership(ctx))
	if !store.IsOwner() {
		t.Fatal("it does not own the store")
	}
}

func TestTheNextOwnerHasWhatTheFormerOneHasAdded(t *testing.T) {
	log, err := NewMemoryLog()
	must(t, err)
	t.Cleanup(log.Close)
	changes := make(chan Leadership, 100)
	first := openReplica(t, log, "first", changes)
	waitForLeadership(t, first)
	epoch := first.Epoch()
	if began := within(t, changes); !began.Owner || began.Epoch != epoch || epoch == 0 {
		t.Fatalf("%+v in the epoch %d", began, epoch)
	}
	q := openQueue(t, first, QueueOptions[string]{Durability: Replicated})
	_, err = q.AddWith("a", AddOptions{})
	must(t, err)
	_, err = q.AddWith("b", AddOptions{Durability: Process})
	must(t, err)
	must(t, first.Flush(Replicated))

	seconds := make(chan Leadership, 100)
	second := openReplica(t, log, "second", seconds)
	if second.IsOwner() || second.Epoch() != 0 {
		t.Fatal("the store has two owners")
	}
	_, err = OpenQueue(second, "q", QueueOptions[string]{})
	wantCode(t, err, NotOwner)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := second.WaitForLeadership(ctx); err != context.DeadlineExceeded {
		t.Fatal(err)
	}

	must(t, first.Resign())
	if ended := within(t, changes); ended.Owner || ended.Epoch != epoch || ended.Why == "" {
		t.Fatalf("%+v after the epoch %d", ended, epoch)
	}
	_, err = q.AddWith("c", AddOptions{})
	wantCode(t, err, NotOwner)
	wantShutDown(t, q)
	wantCode(t, q.Err(), NotOwner)
	must(t, q.Close())
	wantCode(t, first.Resign(), NotOwner)

	waitForLeadership(t, second)
	if second.Epoch() <= epoch {
		t.Fatalf("the epoch %d is not after %d", second.Epoch(), epoch)
	}
	state, err := second.Replica()
	must(t, err)
	if !state.Owner || state.Epoch != second.Epoch() || state.OwnerName != "second" ||
		state.Applied == 0 || state.AppliedAt.IsZero() || state.Log != nil {
		for len(seconds) > 0 {
			t.Logf("%+v", <-seconds)
		}
		t.Fatalf("%+v", state)
	}
	q = openQueue(t, second, QueueOptions[string]{})
	wantNext(t, q, "a")
	wantNext(t, q, "b")
}

func TestAWaitForTheOwnershipEndsWithTheStore(t *testing.T) {
	log, err := NewMemoryLog()
	must(t, err)
	t.Cleanup(log.Close)
	store, err := Open(t.TempDir()+"/store", StoreOptions{CreateIfMissing: true,
		Replication: &Replication{Log: log, Name: "follower", NeverOwner: true}})
	must(t, err)
	waited := make(chan error, 1)
	go func() { waited <- store.WaitForLeadership(context.Background()) }()
	must(t, store.Close())
	wantCode(t, within(t, waited), ShuttingDown)
}

func TestAStoreOnOneMachineIsItsOwner(t *testing.T) {
	store, err := Open(t.TempDir()+"/store", StoreOptions{CreateIfMissing: true})
	must(t, err)
	waitForLeadership(t, store)
	if store.Epoch() != 1 {
		t.Fatal(store.Epoch())
	}
	state, err := store.Replica()
	must(t, err)
	if !state.Owner || state.Epoch != 1 || state.Log != nil {
		t.Fatalf("%+v", state)
	}
	wantCode(t, store.Resign(), InvalidArgument)
	must(t, store.Close())
	if store.IsOwner() || store.Epoch() != 0 {
		t.Fatal("a closed store is owned")
	}
	_, err = store.Replica()
	wantCode(t, err, ShuttingDown)
	wantCode(t, store.WaitForLeadership(context.Background()), ShuttingDown)
}

func TestAStoreOnOneMachineRefusesReplicated(t *testing.T) {
	store, err := Open(t.TempDir()+"/store", StoreOptions{CreateIfMissing: true})
	must(t, err)
	defer store.Close()
	_, err = OpenQueue(store, "q", QueueOptions[string]{Durability: Replicated})
	wantCode(t, err, InvalidArgument)
	q := openQueue(t, store, QueueOptions[string]{})
	_, err = q.AddWith("a", AddOptions{Durability: Replicated})
	wantCode(t, err, InvalidArgument)
	wantCode(t, store.Flush(Replicated), InvalidArgument)
	wantLen(t, q, 0)

	inMemory := openQueue(t, memoryStore(t), QueueOptions[string]{Durability: Replicated})
	inMemory.Add("a")
	must(t, inMemory.Err())
}

func TestBadOptionsOfReplicationAreNamed(t *testing.T) {
	log, err := NewMemoryLog()
	must(t, err)
	t.Cleanup(log.Close)
	for want, options := range map[string]Replication{
		"Replication.Lease":          {Log: log, Name: "r", Lease: -1},
		"Replication.WriteTimeout":   {Log: log, Name: "r", WriteTimeout: 1 << 62},
		"Replication.RequestTimeout": {Name: "r", RequestTimeout: -1},
		"NUL":                        {Log: log, Name: "r\x00"},
	} {
		options := options
		_, err := Open(t.TempDir(), StoreOptions{Replication: &options})
		wantCode(t, err, InvalidArgument)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not have %q", err, want)
		}
	}
}
