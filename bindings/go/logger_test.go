//go:build cgo

package wq

import (
	"fmt"
	"sync"
	"testing"
)

// logged is a logger that keeps what it gets.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Info(msg string, keysAndValues ...any) { l.Error(nil, msg, keysAndValues...) }

func (l *logged) Error(err error, msg string, keysAndValues ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(msg, ": ", codeOf(err), " ", keysAndValues))
}

func (l *logged) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if fmt.Sprint(l.lines) != fmt.Sprint(want) {
		t.Fatalf("logged %q, want %q", l.lines, want)
	}
}

func TestFailuresThatNoCallReturnsAreLogged(t *testing.T) {
	log := &logged{}
	store, err := OpenInMemory(StoreOptions{Logger: log})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("")
	q.Done("never held")
	log.want(t, "a call failed: InvalidArgument [queue q]", "a call failed: NotProcessing [queue q]")
	wantCode(t, second(q.AddWith("", AddOptions{})), InvalidArgument) // Returned, so not logged.
	q.ShutDown()
	q.Add("late") // As in client-go: ignored.
	wantCode(t, q.Err(), ShuttingDown)
	log.want(t, "a call failed: InvalidArgument [queue q]", "a call failed: NotProcessing [queue q]")
}

func TestAFailedStoreIsLoggedOnce(t *testing.T) {
	log := &logged{}
	var reported []Code
	onHealth := logHealth(log, func(err error) { reported = append(reported, codeOf(err)) })
	failed := newError(NotDurable, "no space left")
	onHealth(failed)
	logFailure(log, "q", failed) // Every Add fails so.
	onHealth(nil)
	log.want(t, "the store has failed; it goes on in memory until it has recovered: NotDurable []",
		"the store has recovered: Ok []")
	if fmt.Sprint(reported) != fmt.Sprint([]Code{NotDurable, 0}) {
		t.Fatal(reported)
	}
}
