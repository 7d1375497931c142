//go:build cgo

package wq

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

func openSource(t testing.TB, q *Queue[string]) *Source[string] {
	t.Helper()
	source, err := q.OpenSource("pods")
	must(t, err)
	return source
}

var everything = ListOptions{Scope: "web", Fingerprint: "1"}

func beginList(t testing.TB, source *Source[string]) *SourceList[string] {
	t.Helper()
	list, err := source.BeginList(everything)
	must(t, err)
	return list
}

// observation is of an object whose item is its name.
func observation(object, version string) Observation[string] {
	return Observation[string]{Object: object, Version: version, Items: []string{object}}
}

// wantQueued checks which items are queued.
func wantQueued(t testing.TB, q *Queue[string], want ...string) {
	t.Helper()
	keys, err := q.List(maxListed)
	must(t, err)
	got := make([]string, len(keys))
	for i, key := range keys {
		got[i] = key.Key
	}
	sort.Strings(got)
	sort.Strings(want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("queued: %q, want %q", got, want)
	}
}

func TestARestartReconcilesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	list := beginList(t, openSource(t, q))
	for i := 0; i < 1000; i++ {
		object := fmt.Sprint(i)
		o := observation(object, "1")
		o.Tombstone = "labels of " + object
		must(t, second(list.Observe(o, AddOptions{})))
		wantNext(t, q, object)
		q.AddAfter(object, time.Hour)
		q.Done(object)
	}
	must(t, list.End(AddOptions{}))
	must(t, store.Close())

	store = diskStore(t, dir)
	defer store.Close()
	q = openQueue(t, store, QueueOptions[string]{})
	source := openSource(t, q)
	list = beginList(t, source)
	defer list.Close()
	for i := 2; i < 1002; i++ { // 0 and 1 were deleted, 2 to 4 changed, 1000 and 1001 are new.
		version := "1"
		if i < 5 {
			version = "2"
		}
		must(t, second(list.Observe(observation(fmt.Sprint(i), version), AddOptions{})))
	}
	gone, err := list.NextDeleted()
	must(t, err)
	want := SeenObject[string]{"0", "1", "labels of 0", []string{"0"}}
	if fmt.Sprint(gone) != fmt.Sprint(want) {
		t.Fatalf("%q", gone)
	}
	did, err := list.ObserveDeleted("0", []string{"owner"}, AddOptions{})
	must(t, err)
	if did != (ObserveResult{Changed: true, Added: 2}) {
		t.Fatalf("%+v", did)
	}
	did, err = list.ObserveDeleted("2", nil, AddOptions{}) // It is there again.
	must(t, err)
	if did != (ObserveResult{}) {
		t.Fatalf("%+v", did)
	}
	must(t, list.End(AddOptions{}))
	wantQueued(t, q, "0", "owner", "1", "2", "3", "4", "1000", "1001")
	wantCounts(t, q, "8 queued 1000 delayed")
	must(t, second(source.ObserveDeleted("3", nil, AddOptions{})))
	infos, err := q.Sources()
	must(t, err)
	if fmt.Sprint(infos) != "[{pods 999 995 5 3}]" {
		t.Fatalf("%+v", infos)
	}
	must(t, q.RemoveSource("pods"))
	wantCode(t, q.RemoveSource("pods"), NotFound)
	wantCode(t, second(source.Observe(observation("3", "2"), AddOptions{})), NotFound)
}

func TestAnObservationThatIsOutOfBoundsIsRefused(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{})
	source := openSource(t, q)
	wantCode(t, second(q.OpenSource("a\x00b")), InvalidArgument)
	wantCode(t, second(q.OpenSource("no name")), InvalidArgument)
	wantCode(t, second(memoryQueue(t).OpenSource("pods")), InvalidArgument)
	type seen = *Observation[string]
	for name, call := range map[string]func(o seen, options *AddOptions){
		"no object": func(o seen, _ *AddOptions) { o.Object = "" },
		"object":    func(o seen, _ *AddOptions) { o.Object = strings.Repeat("x", 4097) },
		"version":   func(o seen, _ *AddOptions) { o.Version = strings.Repeat("x", 129) },
		"tombstone": func(o seen, _ *AddOptions) { o.Tombstone = strings.Repeat("x", 4097) },
		"items":     func(o seen, _ *AddOptions) { o.Items = make([]string, 1001) },
		"bytes of items": func(o seen, _ *AddOptions) {
			o.Items = strings.SplitAfter(strings.Repeat(strings.Repeat("x", 4000)+"/", 17), "/")
		},
		"an empty item":  func(o seen, _ *AddOptions) { o.Items = append(o.Items, "") },
		"a delay":        func(_ seen, options *AddOptions) { options.After = time.Hour },
		"a retry":        func(_ seen, options *AddOptions) { options.RateLimited = true },
		"a missing lane": func(_ seen, options *AddOptions) { options.Lane = InLane(5) },
	} {
		list := beginList(t, source)
		o, options := observation("o", "1"), AddOptions{}
		call(&o, &options)
		for by, err := range map[string]error{
			"source": second(source.Observe(o, options)), "list": second(list.Observe(o, options))} {
			if !errors.Is(err, InvalidArgument) {
				t.Errorf("%s, by the %s: %v", name, by, err)
			}
		}
		list.Close()
		list.Close()
	}
	wantQueued(t, q)
}

func TestTheRowOfAnotherVersionIsReturnedBeforeTheChange(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{})
	source := openSource(t, q)
	before := SeenObject[string]{Object: "of another call"}
	o := Observation[string]{Object: "secret", Version: "1", Items: []string{"a", "b"},
		Tombstone: "db", Before: &before}
	must(t, second(source.Observe(o, AddOptions{})))
	if before.Object != "" {
		t.Fatalf("%+v", before)
	}
	wantQueued(t, q, "a", "b")
	o.Version, o.Items, o.Tombstone = "2", []string{"c"}, "mail"
	result, err := source.Observe(o, AddOptions{})
	must(t, err)
	if result.Changed || fmt.Sprint(before) != "{secret 1 db [a b]}" {
		t.Fatalf("%+v %+v", result, before)
	}
	wantQueued(t, q, "a", "b")
	o.Before = nil
	must(t, second(source.Observe(o, AddOptions{})))
	wantQueued(t, q, "a", "b", "c")
}

// pickyCodec has no key for "bad".
type pickyCodec struct{ stringCodec[string] }

func (c pickyCodec) Encode(item string) (string, error) {
	if item == "bad" {
		return "", errors.New("it is bad")
	}
	return c.stringCodec.Encode(item)
}

func TestWhatIsRefusedInGoIsNoDeletion(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{Codec: pickyCodec{}})
	source := openSource(t, q)
	list := beginList(t, source)
	for _, object := range []string{"o", "p"} {
		must(t, second(list.Observe(observation(object, "1"), AddOptions{})))
		wantNext(t, q, object)
		q.Done(object)
	}
	must(t, list.End(AddOptions{}))
	list = beginList(t, source)
	changed := Observation[string]{Object: "o", Version: "2", Items: []string{"o", "bad"}}
	wantCode(t, second(list.Observe(changed, AddOptions{})), InvalidArgument)
	delayed := AddOptions{After: time.Second}
	wantCode(t, second(list.Observe(observation("p", "2"), delayed)), InvalidArgument)
	must(t, list.End(AddOptions{}))
	wantQueued(t, q)
	// Nor is its change hidden by what is filtered later.
	must(t, second(source.Observe(Observation[string]{
		Object: "o", Version: "3", Filtered: true}, AddOptions{})))
	list = beginList(t, source)
	must(t, second(list.Observe(observation("o", "3"), AddOptions{})))
	wantQueued(t, q, "o")
	list.Close()
}

func TestAListThatIsOverIsRefused(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	q := openQueue(t, store, QueueOptions[string]{})
	source := openSource(t, q)
	must(t, second(source.Observe(observation("o", "1"), AddOptions{})))
	closed := beginList(t, source)
	closed.Close() // Nothing is taken for deleted.
	superseded := beginList(t, source)
	ended := beginList(t, source)
	must(t, second(ended.Observe(observation("o", "1"), AddOptions{})))
	must(t, ended.End(AddOptions{}))
	calls := func(list *SourceList[string]) map[string]error {
		return map[string]error{
			"Observe":        second(list.Observe(observation("o", "2"), AddOptions{})),
			"ObserveDeleted": second(list.ObserveDeleted("o", nil, AddOptions{})),
			"NextDeleted":    second(list.NextDeleted()), "End": list.End(AddOptions{})}
	}
	for name, list := range map[string]*SourceList[string]{
		"ended": ended, "superseded": superseded, "closed": closed} {
		for call, err := range calls(list) {
			if !errors.Is(err, InvalidArgument) {
				t.Errorf("%s of a list that is %s: %v", call, name, err)
			}
		}
	}
	wantQueued(t, q, "o")
	last := beginList(t, source)
	must(t, store.Close())
	for call, err := range calls(last) {
		if !errors.Is(err, ShuttingDown) {
			t.Errorf("%s of a list of a closed store: %v", call, err)
		}
	}
	wantCode(t, second(source.BeginList(ListOptions{})), ShuttingDown)
	last.Close()
}

func TestTheItemsOfAnObservationAreInTheirGroups(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{GroupOf: byLetter})
	o := Observation[string]{Object: "o", Version: "1", Items: []string{"a1", "b1"}}
	must(t, second(openSource(t, q).Observe(o, AddOptions{})))
	keys, err := q.List(2)
	must(t, err)
	if len(keys) != 2 || keys[0].Group != "a" || keys[1].Group != "b" {
		t.Fatalf("%+v", keys)
	}
}

// Events of a watch come while lists are made; some of these are abandoned or superseded.
func TestEventsDuringAListAreNeitherLostNorDeleted(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q := openQueue(t, store, QueueOptions[string]{})
	source := openSource(t, q)
	const watches, objects, versions = 4, 20, 25
	var events, lists sync.WaitGroup
	done := make(chan struct{})
	for w := 0; w < watches; w++ {
		events.Add(1)
		go func(w int) {
			defer events.Done()
			for v := 1; v <= versions; v++ {
				for i := 0; i < objects; i++ {
					o := observation(fmt.Sprint(w, ".", i), fmt.Sprint(v))
					if err := second(source.Observe(o, AddOptions{})); err != nil {
						t.Error(err)
					}
				}
			}
		}(w)
	}
	for l := 0; l < 2; l++ {
		lists.Add(1)
		go func() {
			defer lists.Done()
			for over := false; !over; {
				select {
				case <-done:
					over = true
				default:
				}
				list, err := source.BeginList(everything)
				if err != nil {
					t.Error(err)
					return
				}
				for i := 0; i < objects && err == nil; i++ {
					_, err = list.Observe(observation(fmt.Sprint("listed ", i), ""), AddOptions{})
				}
				if err == nil {
					_, err = list.NextDeleted() // Another one's list may have ended.
				}
				if err != nil && !errors.Is(err, InvalidArgument) && !errors.Is(err, NotFound) {
					t.Error(err)
				}
				list.Close()
			}
		}()
	}
	events.Wait()
	close(done)
	lists.Wait()
	list := beginList(t, source)
	defer list.Close()
	for i := 0; i < watches*objects; i++ {
		o := observation(fmt.Sprint(i/objects, ".", i%objects), fmt.Sprint(versions))
		must(t, second(list.Observe(o, AddOptions{})))
	}
	for i := 0; i < objects; i++ {
		gone, err := list.NextDeleted()
		must(t, err)
		if !strings.HasPrefix(gone.Object, "listed ") {
			t.Fatalf("%+v", gone)
		}
	}
	wantCode(t, second(list.NextDeleted()), NotFound)
	must(t, list.End(AddOptions{}))
	infos, err := q.Sources()
	must(t, err)
	if infos[0].Objects != watches*objects || q.Len() != watches*objects+objects {
		t.Fatalf("%+v, %d items", infos, q.Len())
	}
}
