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

// The code that the comment of the package shows.

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

func TestThePackagesCommentShowsCodeThatCompiles(t *testing.T) {
	_, block, found := strings.Cut(read(t, "doc.go"), "\n//\t")
	block, _, ends := strings.Cut(block, "\n//\n")
	block = "\t" + strings.ReplaceAll(block, "\n//\t", "\n\t")
	if !found || !ends || !strings.Contains(read(t, "example_test.go"), block) {
		t.Errorf("this of doc.go does not compile in example_test.go:\n%s", block)
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
