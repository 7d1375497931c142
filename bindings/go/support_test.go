package wq

import (
	"context"
	"errors"
	"testing"
	"time"
)

// patience bounds the wait for an event that must happen.
const patience = 10 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// doors are where queues are opened; without cgo there are no linked ones.
var doors = map[string]func(t *testing.T) Opener{
	"remote": func(t *testing.T) Opener { return dial(t, serve(t, "").dir, ClientOptions{}) }}

// onDoors runs a case on a linked queue, and on a remote one.
func onDoors(t *testing.T, run func(t *testing.T, at Opener)) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) { run(t, door(t)) })
	}
}

func openQueue(t testing.TB, at Opener, options QueueOptions[string]) *Queue[string] {
	t.Helper()
	q, err := OpenQueue(at, "q", options)
	must(t, err)
	return q
}

// wantCode checks the code of an error.
func wantCode(t testing.TB, err error, code Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
}

func wantLen(t testing.TB, q *Queue[string], n int) {
	t.Helper()
	if got := q.Len(); got != n {
		t.Fatalf("%d items are queued, want %d", got, n)
	}
}

// take gets an item, which must be handed out in time.
func take(t testing.TB, q *Queue[string]) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	item, err := q.GetContext(ctx)
	must(t, err)
	return item
}

// wantNext checks that the next item is want.
func wantNext(t testing.TB, q *Queue[string], want string) {
	t.Helper()
	if got := take(t, q); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// wantShutDown checks that Get ends.
func wantShutDown(t testing.TB, q *Queue[string]) {
	t.Helper()
	if item, shutdown := q.Get(); !shutdown {
		t.Fatalf("got %q, want a shutdown", item)
	}
}

// within returns the next value of the channel.
func within[V any](t testing.TB, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("the channel received nothing")
		panic("not reached")
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen: " + what)
		}
		<-time.After(time.Millisecond)
	}
}

func second[V any](_ V, err error) error { return err }
