//go:build cgo

package wq

// Helpers of the tests of linked queues.

import "testing"

func init() { doors["linked"] = func(t *testing.T) Opener { return memoryStore(t) } }

func memoryStore(t testing.TB) *Store {
	t.Helper()
	store, err := OpenInMemory(StoreOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

func diskStore(t testing.TB, dir string) *Store {
	t.Helper()
	store, err := Open(dir, StoreOptions{CreateIfMissing: true})
	must(t, err)
	return store
}

// memoryQueue returns a queue in memory with default options.
func memoryQueue(t testing.TB) *Queue[string] {
	t.Helper()
	return openQueue(t, memoryStore(t), QueueOptions[string]{})
}

// wantNothing checks that Get would wait.
func wantNothing(t testing.TB, q *Queue[string]) {
	t.Helper()
	if keys, code, err := takeKeys(q.backend.(*linkedQueue).dispatcher.from, 1); code != TimedOut {
		t.Fatalf("got %q, %v", keys, err)
	}
}
