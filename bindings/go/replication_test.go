//go:build cgo

package wq

import (
	"context"
	"strings"
	"testing"
)

func waitForLeadership(t *testing.T, store *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, store.WaitForLeadership(ctx))
	if !store.IsOwner() {
		t.Fatal("it does not own the store")
	}
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
	wantCode(t, second(store.Replica()), ShuttingDown)
	wantCode(t, store.WaitForLeadership(context.Background()), ShuttingDown)
}

func TestAStoreOnOneMachineRefusesReplicated(t *testing.T) {
	store, err := Open(t.TempDir()+"/store", StoreOptions{CreateIfMissing: true})
	must(t, err)
	defer store.Close()
	_, err = OpenQueue(store, "q", QueueOptions[string]{Durability: Replicated})
	wantCode(t, err, InvalidArgument)
	q := openQueue(t, store, QueueOptions[string]{})
	wantCode(t, second(q.AddWith("a", AddOptions{Durability: Replicated})), InvalidArgument)
	wantCode(t, store.Flush(Replicated), InvalidArgument)
	wantLen(t, q, 0)

	inMemory := openQueue(t, memoryStore(t), QueueOptions[string]{Durability: Replicated})
	inMemory.Add("a")
	must(t, inMemory.Err())
}

func TestBadOptionsOfReplicationAreNamed(t *testing.T) {
	for want, options := range map[string]Replication{
		"Replication.Lease":          {Name: "r", Lease: -1},
		"Replication.WriteTimeout":   {Name: "r", WriteTimeout: 1 << 62},
		"Replication.RequestTimeout": {Name: "r", RequestTimeout: -1},
		"NUL":                        {Name: "r\x00"},
	} {
		_, err := options.openLog()
		if codeOf(err) != InvalidArgument {
			var a arena
			_, err = options.toC(&a)
			a.free()
		}
		wantCode(t, err, InvalidArgument)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not have %q", err, want)
		}
	}
}
