//go:build cgo

package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/wq"
)

const files = 2000

// TestMain runs the program itself if a test has started it as a child, to kill it.
func TestMain(m *testing.M) {
	if os.Getenv("WQ_GO_DIGEST") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeTree makes files, and a broken link that cannot be read.
func makeTree(t *testing.T, tree string) {
	t.Helper()
	for i := 0; i < files; i++ {
		path := fmt.Sprintf("%s/%d/file %d", tree, i%10, i)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(strings.Repeat("x", i)), 0o644))
	}
	must(t, os.Symlink("nowhere", tree+"/broken"))
}

// countSums counts the digests.
func countSums(sums string) int {
	n := 0
	// A concurrent change may be missed: the caller counts again.
	_ = filepath.WalkDir(sums, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasSuffix(path, ".new") {
			n++
		}
		return nil
	})
	return n
}

func program(arguments ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), "WQ_GO_DIGEST=1")
	return command
}

func TestItIsKilledAndResumes(t *testing.T) {
	dir := t.TempDir()
	tree, sums, store := dir+"/tree", dir+"/sums", dir+"/store"
	makeTree(t, tree)
	arguments := []string{"-store", store, "-from", tree, "-to", sums, "-workers", "8"}

	before := 0
	for kill := 1; kill <= 2; kill++ { // At a third, and at two thirds.
		command := program(arguments...)
		must(t, command.Start())
		for end := time.Now().Add(10 * time.Minute); before < kill*files/3; before = countSums(sums) {
			if time.Now().After(end) {
				t.Fatalf("no more than %d digests are written", before)
			}
		}
		must(t, command.Process.Kill())
		_ = command.Wait() // It was killed, or had just ended.
	}
	if before >= files {
		t.Log("the program had ended before the second kill")
	}

	command := program(arguments...)
	out, err := command.StdoutPipe()
	must(t, err)
	command.Stderr = os.Stderr
	must(t, command.Start())
	printedLines := map[string]int{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printedLines[strings.Fields(lines.Text())[0]]++
	}
	must(t, command.Wait())
	if printedLines["resuming"] != 1 {
		t.Fatalf("it started from the beginning: %v", printedLines)
	}
	checkSums(t, tree, sums)
	checkQueue(t, store)
}

func checkSums(t *testing.T, tree, sums string) {
	t.Helper()
	for i := 0; i < files; i++ {
		name := fmt.Sprintf("/%d/file %d", i%10, i)
		content, err := os.ReadFile(tree + name)
		must(t, err)
		sum, err := os.ReadFile(sums + name)
		must(t, err)
		if want := fmt.Sprintf("%x\n", sha256.Sum256(content)); string(sum) != want {
			t.Fatalf("the digest of %s is %q, want %q", name, sum, want)
		}
	}
}

// checkQueue checks that the broken file was tried six times, over all runs, and then quarantined.
func checkQueue(t *testing.T, dir string) {
	t.Helper()
	store, err := wq.Open(dir, wq.StoreOptions{})
	must(t, err)
	defer store.Close()
	queue, err := wq.OpenQueue(store, "files", wq.QueueOptions[string]{MustExist: true})
	must(t, err)
	counts, err := queue.Counts()
	must(t, err)
	if counts.Queued+counts.Delayed+counts.Failing != 0 || counts.Quarantined != 1 {
		t.Fatalf("%+v", counts)
	}
	quarantined, err := queue.Quarantined()
	must(t, err)
	if quarantined[0].Key != "broken" || quarantined[0].Failures != maxRequeues ||
		!strings.Contains(quarantined[0].LastError, "no such file") {
		t.Fatalf("%+v", quarantined)
	}
}
