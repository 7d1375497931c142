package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestMain is the program itself when the test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("WQ_GO_README") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Both runs hand out the key once: the second one finds the store of the first, with nothing left.
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
