package wq

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// wantCounts checks the counters that are not 0, without the totals: "1 queued 2 delayed".
func wantCounts(t testing.TB, q *Queue[string], want string) {
	t.Helper()
	c, err := q.Counts()
	must(t, err)
	var got []string
	for _, n := range []struct {
		count int
		what  string
	}{{c.Queued, "queued"}, {c.Processing, "processing"}, {c.Delayed, "delayed"},
		{c.Failing, "failing"}, {c.Quarantined, "quarantined"}} {
		if n.count != 0 {
			got = append(got, fmt.Sprint(n.count, " ", n.what))
		}
	}
	if strings.Join(got, " ") != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func wantRequeues(t testing.TB, q interface{ NumRequeues(item string) int }, item string, n int) {
	t.Helper()
	if got := q.NumRequeues(item); got != n {
		t.Fatalf("%d failures of %q, want %d", got, item, n)
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

// waiting returns the channel of the item of a Get that waits.
func waiting(t testing.TB, q *Queue[string]) <-chan string {
	t.Helper()
	before := q.backend.waitingGets()
	got := make(chan string, 1)
	go func() { got <- take(t, q) }()
	eventually(t, "it waits", func() bool { return q.backend.waitingGets() > before })
	return got
}

// wantFrom checks what the channel receives next.
func wantFrom(t testing.TB, got <-chan string, want string) {
	t.Helper()
	if item := within(t, got); item != want {
		t.Fatalf("got %q, want %q", item, want)
	}
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

// inBackground returns a channel that is closed when the call has returned.
func inBackground(call func()) <-chan bool {
	returned := make(chan bool)
	go func() {
		defer close(returned)
		call()
	}()
	return returned
}

// wantRunning checks that such a call has not returned.
func wantRunning(t testing.TB, returned <-chan bool, otherwise string) {
	t.Helper()
	select {
	case <-returned:
		t.Fatal(otherwise)
	default:
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
