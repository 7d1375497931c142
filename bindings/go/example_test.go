//go:build cgo

package wq_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"example.org/wq"
)

// The code that the comment of the package and docs/sources.md show.

func comment(ctx context.Context, reconcile func(key string)) error {
	store, err := wq.Open("pods.wq", wq.StoreOptions{CreateIfMissing: true})
	if err != nil {
		return err
	}
	defer store.Close()
	pods, err := wq.OpenQueue(store, "pods", wq.QueueOptions[string]{})
	if err != nil {
		return err
	}
	pods.Add("default/pod-1") // When it returns, the key survives kill -9.
	for {
		key, err := pods.GetContext(ctx)
		if errors.Is(err, wq.ShuttingDown) {
			return nil // ShutDown was called; what is left stays in the store.
		}
		if err != nil {
			return err // The context has ended.
		}
		reconcile(key)
		pods.Done(key)
	}
}

type object struct{ Name, Version, Owner string }

type event struct {
	object
	Deleted bool
}

// cluster is what docs/sources.md leaves to the reader.
type cluster interface {
	List() []object
	Watch() <-chan event
}

func sources(queue *wq.Queue[string], cluster cluster, build string) error {
	pods, err := queue.OpenSource("pods")
	if err != nil {
		return err
	}
	list, err := pods.BeginList(wq.ListOptions{Scope: "namespace=web", Fingerprint: build})
	if err != nil {
		return err
	}
	defer list.Close()
	for _, pod := range cluster.List() { // Of those that are unchanged, nothing moves.
		_, err := list.Observe(wq.Observation[string]{
			Object: pod.Name, Version: pod.Version, Items: []string{pod.Owner}}, wq.AddOptions{})
		if err != nil {
			return err
		}
	}
	if err := list.End(wq.AddOptions{}); err != nil { // The rest was deleted.
		return err
	}
	for event := range cluster.Watch() {
		if event.Deleted {
			_, err = pods.ObserveDeleted(event.Name, []string{event.Owner}, wq.AddOptions{})
		} else {
			_, err = pods.Observe(wq.Observation[string]{
				Object: event.Name, Version: event.Version, Items: []string{event.Owner}}, wq.AddOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var _ = sources

func TestThePagesShowCodeThatCompiles(t *testing.T) {
	code := read(t, "example_test.go")
	for page, begins := range map[string]string{"doc.go": "//\t", "../../docs/sources.md": "```go\n"} {
		_, block, _ := strings.Cut(read(t, page), begins)
		if page == "doc.go" {
			block, _, _ = strings.Cut(block, "\n//\n")
			block = strings.ReplaceAll(block, "\n//\t", "\n")
		} else {
			block, _, _ = strings.Cut(block, "\n```")
		}
		block = "\t" + strings.ReplaceAll(block, "\n", "\n\t")
		if !strings.Contains(code, block) {
			t.Errorf("this of %s does not compile in example_test.go:\n%s", page, block)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestThePackagesLoopEndsWithItsContext(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(t.TempDir()); err != nil { // The loop's store is pods.wq.
		t.Fatal(err)
	}
	defer os.Chdir(before)
	for i := 1; i <= 2; i++ {
		ctx, cancel := context.WithCancel(context.Background())
		err := comment(ctx, func(key string) {
			if key != "default/pod-1" {
				t.Errorf("got %q", key)
			}
			cancel()
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}
