//go:build cgo

package wq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// filledStore returns a store with an entry of each state, and its directory.
func filledStore(t *testing.T) (*Store, string) {
	t.Helper()
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{
		Order: TwoLanes, GroupOf: func(string) string { return "g" }})
	must(t, q.AddWithLane("slow", SlowLane))
	q.Add("fast\x00\xff")
	q.AddAfter("later", time.Hour)
	second(q.AddWith("failed", AddOptions{RateLimited: true, Failure: errors.New("it is\nbroken")}))
	must(t, q.CancelDelay("failed"))
	must(t, q.Quarantine("given up", errors.New("hopeless")))
	must(t, q.SetCursor("watch", "17\x00"))
	must(t, q.Err())
	return store, dir
}

func openView(t *testing.T, dir string) *View {
	t.Helper()
	view, err := OpenView(dir)
	must(t, err)
	t.Cleanup(func() { must(t, view.Close()) })
	return view
}

func keysOf(t *testing.T, view *View, states ...State) string {
	t.Helper()
	var keys []string
	must(t, view.Entries("q", func(e Entry) bool {
		keys = append(keys, fmt.Sprintf("%q %v", e.Key, e.State))
		return true
	}, states...))
	return strings.Join(keys, ", ")
}

func TestAViewShowsEveryEntryBesideTheOwner(t *testing.T) {
	store, dir := filledStore(t)
	defer store.Close()
	view := openView(t, dir)
	if all, want := keysOf(t, view), `"fast\x00\xff" pending, "slow" pending, "later" delayed, `+
		`"failed" failing, "given up" quarantined`; all != want {
		t.Fatalf("got  %s\nwant %s", all, want)
	}
	if some := keysOf(t, view, Quarantined, Delayed); some !=
		`"later" delayed, "given up" quarantined` {
		t.Fatal(some)
	}
	wantCode(t, view.Entries("q", nil, State(4)), InvalidArgument)
	wantCode(t, view.Entries("none", func(Entry) bool { return true }), NotFound)
	seen := 0
	must(t, view.Entries("q", func(Entry) bool { seen++; return seen < 2 }))
	if seen != 2 {
		t.Fatalf("%d entries were visited", seen)
	}
}

func TestAViewFindsAKey(t *testing.T) {
	store, dir := filledStore(t)
	must(t, store.Close()) // Also without an owner.
	view := openView(t, dir)
	find := func(key string) Entry {
		t.Helper()
		entries, err := view.Find("q", key)
		must(t, err)
		if len(entries) != 1 || entries[0].Key != key {
			t.Fatalf("%+v", entries)
		}
		return entries[0]
	}
	if e := find("slow"); e.Lane != SlowLane || e.Group != "g" || e.Shard != -1 || e.Sequence == 0 ||
		time.Since(e.AddedAt) > time.Hour || e.Failures != nil || !e.ReadyAt.IsZero() {
		t.Errorf("%+v", e)
	}
	if e := find("later"); e.Delay != time.Hour || e.ReadyAt.Sub(e.AddedAt) != time.Hour {
		t.Errorf("%+v", e)
	}
	if f := find("failed").Failures; f == nil || f.Count != 1 || f.LastError != "it is\nbroken" ||
		!f.First.Equal(f.Last) {
		t.Errorf("%+v", f)
	}
	if e := find("given up"); e.QuarantinedAt.IsZero() || e.Failures.LastError != "hopeless" {
		t.Errorf("%+v", e)
	}
	wantCode(t, second(view.Find("q", "unknown")), NotFound)
	wantCode(t, second(view.Find("none", "slow")), NotFound)
	wantCode(t, second(view.Find("a\x00b", "slow")), InvalidArgument)
}

func TestAViewSummarizes(t *testing.T) {
	store, dir := filledStore(t)
	view := openView(t, dir)
	names, err := view.QueueNames()
	must(t, err)
	s, err := view.Summarize("q")
	must(t, err)
	if len(names) != 1 || names[0] != "q" || s.Pending != 2 || s.Delayed != 1 || s.Failing != 1 ||
		s.Quarantined != 1 || len(s.Lanes) != 2 || s.Lanes[SlowLane] != 1 || s.Groups != 1 || s.Paused ||
		s.OldestAdded.IsZero() || !s.NextReady.After(s.OldestAdded) {
		t.Errorf("%q %+v", names, s)
	}
	wantCode(t, second(view.Summarize("none")), NotFound)
	cursors, err := view.Cursors("q")
	must(t, err)
	if len(cursors) != 1 || cursors["watch"] != "17\x00" {
		t.Errorf("%q", cursors)
	}
	uuid, err := store.UUID()
	must(t, err)
	info, err := view.Info()
	must(t, err)
	if info.UUID != uuid || info.OwnerPID != os.Getpid() || !info.OwnerAlive ||
		info.CreatedAt.IsZero() || !info.SnapshotAt.IsZero() || info.WALBytes == 0 {
		t.Errorf("%+v", info)
	}
	must(t, store.Close())
}

// The entries are passed to Go in several lists; after a stop or a panic no entry is visited.
func TestAViewVisitsManyEntriesInLists(t *testing.T) {
	const entries = 5000
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	items := make([]string, entries)
	for i := range items {
		items[i] = "item/" + strconv.Itoa(i)
	}
	second(q.AddBatch(items, AddOptions{}))
	must(t, store.Close())
	view := openView(t, dir)
	seen := 0
	must(t, view.Entries("q", func(e Entry) bool {
		if e.Key != items[seen] {
			t.Errorf("got %q, want %q", e.Key, items[seen])
		}
		seen++
		return true
	}))
	if seen != entries {
		t.Fatalf("%d of %d entries were visited", seen, entries)
	}
	func() {
		defer func() {
			if why := recover(); why != "enough" {
				t.Errorf("%v", why)
			}
		}()
		must(t, view.Entries("q", func(e Entry) bool {
			if e.Key == items[entries/2] {
				panic("enough")
			}
			return true
		}))
	}()
	must(t, view.Entries("q", func(Entry) bool { // The panic holds nothing; a call inside is refused.
		if err := second(view.Find("q", items[0])); !errors.Is(err, InvalidArgument) {
			t.Error(err)
		}
		return false
	}))
}

func TestCallsOfAClosedViewReturnShuttingDown(t *testing.T) {
	store, dir := filledStore(t)
	defer store.Close()
	view := openView(t, dir)
	must(t, view.Close())
	must(t, view.Close())
	wantCode(t, view.Entries("q", func(Entry) bool { return true }), ShuttingDown)
	for _, err := range []error{second(view.Info()), second(view.QueueNames()),
		second(view.Summarize("q")), second(view.Find("q", "k")), second(view.Cursors("q")),
		second(view.Limits("q"))} {
		if codeOf(err) != ShuttingDown || !strings.Contains(err.Error(), "view") {
			t.Error(err)
		}
	}
	wantCode(t, second(OpenView(dir+"/none")), NotFound)

	files := descriptors(t)
	func() { second(OpenView(dir)) }()
	eventually(t, "an unreachable view is closed", func() bool {
		runtime.GC()
		return descriptors(t) <= files
	})
}

func TestSnapshotsAreCreatedReadAndRestored(t *testing.T) {
	ctx := context.Background()
	store, dir := filledStore(t)
	kept := t.TempDir()
	path, err := CreateSnapshot(ctx, dir, kept, SnapshotOptions{Name: "first"})
	must(t, err)
	must(t, store.Close())
	wantCode(t, second(CreateSnapshot(ctx, dir, kept, SnapshotOptions{Name: "first"})), AlreadyExists)
	wantCode(t, second(CreateSnapshot(ctx, dir, kept, SnapshotOptions{Name: "a/b"})), InvalidArgument)
	wantCode(t, second(CreateSnapshot(ctx, "a\x00b", kept, SnapshotOptions{})), InvalidArgument)
	latest, err := CreateSnapshot(ctx, dir, kept, SnapshotOptions{CopyTables: true})
	must(t, err)

	all, err := ListSnapshots(kept)
	must(t, err)
	if len(all) != 2 || all[0].Name != "first" || all[0].Path != path || all[1].Path != latest ||
		all[0].Bytes == 0 || !all[1].TakenAt.After(all[0].TakenAt) || len(all[0].UUID) != 36 {
		t.Fatalf("%+v", all)
	}
	view := openView(t, path)
	info, err := view.Info()
	must(t, err)
	if !info.SnapshotAt.Equal(all[0].TakenAt) || strings.Count(keysOf(t, view), ",") != 4 {
		t.Fatalf("%+v, %s", info, keysOf(t, view))
	}

	ended, cancel := context.WithCancel(ctx)
	cancel()
	into := t.TempDir() + "/restored"
	if err := second(RestoreSnapshot(ended, kept, into)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	from, err := RestoreSnapshot(ctx, kept, into)
	must(t, err)
	if from != latest {
		t.Fatalf("%q is not %q", from, latest)
	}
	store = diskStore(t, into)
	wantLen(t, openQueue(t, store, QueueOptions[string]{Order: TwoLanes}), 2)
	must(t, store.Close())
	wantCode(t, second(ListSnapshots(into)), NotFound)
}
