//go:build cgo

package wq

// Helpers of the tests of linked queues.

import "testing"

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

func openQueue(t testing.TB, store *Store, options QueueOptions[string]) *Queue[string] {
	t.Helper()
	q, err := OpenQueue(store, "q", options)
	must(t, err)
	return q
}

// memoryQueue returns a queue in memory with default options.
func memoryQueue(t testing.TB) *Queue[string] {
	t.Helper()
	return openQueue(t, memoryStore(t), QueueOptions[string]{})
}

// wantNothing checks that Get would wait.
func wantNothing(t testing.TB, q *Queue[string]) {
	t.Helper()
	if key, _, code, err := takeOne(q.backend.(*linkedQueue).dispatcher.from); code != TimedOut {
		t.Fatalf("got %q, %v", key, err)
	}
}
