//go:build cgo

package wq

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// A process that adds, works and fails is killed with SIGKILL. No acknowledged call is lost.

const childStore = "WQ_GO_CRASH_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		child(dir)
		return
	}
	if dir := os.Getenv(execStore); dir != "" {
		if err := execChild(dir); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child prints the acknowledged number, until it is killed.
func child(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	store, err := Open(dir, StoreOptions{CreateIfMissing: true})
	fail(err)
	q, err := OpenQueue(store, "q", QueueOptions[string]{Backoff: Exponential(time.Hour, time.Hour)})
	fail(err)
	go func() {
		for {
			if _, shutdown := q.Get(); shutdown { // Never done.
				return
			}
		}
	}()
	for i := 0; ; i++ {
		q.Add("add/" + strconv.Itoa(i))
		q.AddAfter("delay/"+strconv.Itoa(i), time.Hour)
		_, err := q.AddWith("fail/"+strconv.Itoa(i), AddOptions{RateLimited: true, Failure: os.ErrClosed})
		fail(err)
		fail(q.SetCursor("at", strconv.Itoa(i)))
		fail(q.Err())
		fmt.Println(i)
	}
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	dir := t.TempDir() + "/store"
	known := -1
	for round := 0; round < 3; round++ {
		known = killChild(t, dir, 50*(round+1))
		checkKilled(t, dir, known)
	}
}

// killChild runs the child until it has printed this many lines, kills it, and returns its last
// number.
func killChild(t *testing.T, dir string, lines int) int {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childStore+"="+dir)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	last := -1
	for printed := bufio.NewScanner(out); printed.Scan(); {
		n, err := strconv.Atoi(printed.Text())
		if err != nil {
			t.Fatal(printed.Text())
		}
		if last = n; last == lines {
			must(t, command.Process.Kill())
		}
	}
	if err := command.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return last
}

func checkKilled(t *testing.T, dir string, known int) {
	t.Helper()
	store := diskStore(t, dir)
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{MustExist: true})
	counts, err := q.Counts()
	must(t, err)
	if counts.Queued <= known || counts.Processing != 0 || counts.Delayed <= 2*known {
		t.Fatalf("%d were acknowledged: %+v", known, counts)
	}
	for i := 0; i <= known; i++ {
		n := strconv.Itoa(i)
		if _, err := q.PositionOf("add/" + n); err != nil {
			t.Fatal(err)
		}
		if q.NumRequeues("fail/"+n) == 0 {
			t.Fatalf("the failure of %s is gone", n)
		}
	}
	cursor, err := q.Cursor("at")
	must(t, err)
	if at, err := strconv.Atoi(cursor); err != nil || at < known {
		t.Fatalf("the cursor is at %q, not %d", cursor, known)
	}
	must(t, q.Err())
}
