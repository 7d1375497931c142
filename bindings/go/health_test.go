//go:build cgo

package wq

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limitFiles limits the size of files, as on a full disk.
func limitFiles(t *testing.T, limit syscall.Rlimit) {
	t.Helper()
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
}

func TestAFullDiskIsReportedAndTheStoreRecovers(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	defer limitFiles(t, before)

	dir := t.TempDir() + "/store"
	reported := make(chan error, 2)
	inside := make(chan error, 4)
	var store *Store
	store, err := Open(dir, StoreOptions{
		CreateIfMissing: true,
		NoProcessLog:    true, // So an Add waits for its write, which fails.
		// Only Recover recovers the store.
		RecoveryBackoffMin: time.Hour, RecoveryBackoffMax: time.Hour,
		OnHealth: func(err error) {
			inside <- store.Close()
			inside <- store.Recover()
			reported <- err
		}})
	must(t, err)
	counts := ownCounts{"bad": 1}
	q := openQueue(t, store, QueueOptions[string]{Limiter: counts, GroupOf: byLetter})

	texts, err := OpenQueue(store, "numbers", QueueOptions[string]{})
	must(t, err)
	texts.Add("x")
	texts.Add("1")
	must(t, texts.Close())
	ints, err := OpenQueue(store, "numbers", QueueOptions[int]{})
	must(t, err)

	limitFiles(t, syscall.Rlimit{Cur: 0, Max: before.Max})
	q.Add("a")
	wantCode(t, q.Err(), NotDurable)
	if outcome, err := q.AddWith("b", AddOptions{}); outcome != Added {
		t.Fatal(outcome, err) // It was applied in memory.
	}
	// The last group has no key that is added.
	result, err := q.AddBatch([]string{"c", "d", strings.Repeat("e", 5000)}, AddOptions{})
	if result.Added != 2 || len(result.Refused) != 1 || codeOf(err) != NotDurable {
		t.Fatal(result, err)
	}
	wantNext(t, q, "a")
	if one, err := ints.GetContext(context.Background()); err != nil || one != 1 {
		t.Fatal(one, err)
	}
	if c, err := ints.Counts(); err != nil || c.Processing != 1 || c.Quarantined != 1 {
		t.Fatalf("%+v %v", c, err) // What is no number is not held for ever.
	}
	wantCode(t, q.Quarantine("bad", nil), NotDurable)
	if counts["bad"] != 0 {
		t.Fatal(counts) // As it was applied, the limiter has forgotten it.
	}
	wantCode(t, store.Health(), NotDurable)
	wantCode(t, store.Recover(), NotDurable)
	wantCode(t, within(t, reported), NotDurable)

	limitFiles(t, before)
	must(t, store.Recover())
	must(t, within(t, reported))
	must(t, store.Health())
	for i := 0; i < 4; i++ {
		wantCode(t, within(t, inside), InvalidArgument) // They would wait for their caller.
	}
	must(t, store.Close())

	store = diskStore(t, dir)
	wantLen(t, openQueue(t, store, QueueOptions[string]{}), 4)
	must(t, store.Close())
}

func TestTheProcessLogIsAnOption(t *testing.T) {
	dir := t.TempDir() + "/store"
	for _, c := range []struct {
		options StoreOptions
		want    Code
		least   int64
		most    int64
	}{
		{StoreOptions{}, 0, 8 << 20, 9 << 20},
		{StoreOptions{ProcessLogBytes: 1 << 20}, 0, 1 << 20, 2 << 20},
		{StoreOptions{ProcessLogBytes: 1 << 20, NoProcessLog: true}, NotFound, 0, 0},
	} {
		c.options.CreateIfMissing = true
		store, err := Open(dir, c.options)
		must(t, err)
		if code := codeOf(store.ProcessLogStatus()); code != c.want {
			t.Errorf("%+v: %v", c.options, code)
		}
		logs, err := filepath.Glob(dir + "/process-*.ring")
		must(t, err)
		var size int64
		for _, log := range logs {
			info, err := os.Stat(log)
			must(t, err)
			size += info.Size()
		}
		if size < c.least || size > c.most {
			t.Errorf("%+v: %d bytes", c.options, size)
		}
		must(t, store.Close())
	}
	wantCode(t, second(Open(dir, StoreOptions{ProcessLogBytes: 1<<30 + 1})), InvalidArgument)
	wantCode(t, memoryStore(t).ProcessLogStatus(), NotFound)
}
