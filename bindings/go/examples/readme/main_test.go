//go:build cgo

package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestMain runs the program itself if a test has started it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("WQ_GO_README") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Both runs hand out the key once: the second run opens the store of the first, which
// has no key left.
func TestItDoesWhatTheReadmeSays(t *testing.T) {
	dir := t.TempDir()
	for run := 1; run <= 2; run++ {
		command := exec.Command(os.Args[0])
		command.Dir = dir
		command.Env = append(os.Environ(), "WQ_GO_README=1")
		printed, err := command.Output()
		if err != nil || string(printed) != "reconciling default/pod-1\n" {
			t.Fatalf("run %d printed %q (%v)", run, printed, err)
		}
	}
}
