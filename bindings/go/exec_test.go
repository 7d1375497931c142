//go:build cgo

package wq

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// What a program that has a store open may do with other programs: see Open.

// execStore is set in a child process that replaces itself by exec.
const execStore = "WQ_GO_EXEC_STORE"

// execRun says how often that child has replaced itself.
const execRun = "WQ_GO_EXEC_RUN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(execStore); dir != "" {
		if err := execChild(dir); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(panicInGroupOf) != "" {
		recoverInGroupOf()
		return
	}
	os.Exit(m.Run())
}

// execChild adds a key, and replaces its process once by the same program, with the store open.
func execChild(dir string) error {
	store, err := Open(dir, StoreOptions{CreateIfMissing: true})
	if err != nil {
		return err
	}
	q, err := OpenQueue(store, "q", QueueOptions[string]{})
	if err != nil {
		return err
	}
	q.Add("run " + os.Getenv(execRun))
	if err := q.Err(); err != nil {
		return err
	}
	if os.Getenv(execRun) == "1" {
		os.Setenv(execRun, "2")
		return syscall.Exec(os.Args[0], os.Args[:1], os.Environ())
	}
	return store.Close()
}

// panicInGroupOf is set in a child process whose GroupOf panics while C calls it.
const panicInGroupOf = "WQ_GO_PANIC_IN_GROUP_OF"

func recoverInGroupOf() {
	defer func() { fmt.Println("recovered", recover()) }()
	store, err := OpenInMemory(StoreOptions{})
	if err != nil {
		panic(err)
	}
	q, err := OpenQueue(store, "q", QueueOptions[string]{
		GroupOf: func(string) string { panic("boom") }})
	if err != nil {
		panic(err)
	}
	q.Quarantine("a", nil)
}

func TestAPanicDoesNotPassThroughC(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), panicInGroupOf+"=1")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a panic of GroupOf cannot pass through C: boom") {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestAProgramMayReplaceItselfByExec(t *testing.T) {
	dir := t.TempDir() + "/store"
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), execStore+"="+dir, execRun+"=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	wantNext(t, q, "run 1")
	wantNext(t, q, "run 2")
	must(t, store.Close())
}

func TestAProgramMayStartOthers(t *testing.T) {
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("before")
	noProgram := t.TempDir() + "/no-program"
	must(t, os.WriteFile(noProgram, []byte("\x7fELF"), 0o700))
	for _, path := range []string{noProgram, t.TempDir()} { // The fork succeeds, the exec fails.
		if err := exec.Command(path).Run(); err == nil || errors.As(err, new(*exec.ExitError)) {
			t.Fatalf("%s was started: %v", path, err)
		}
	}
	command := exec.Command("/bin/sh", "-c", "ls -l /proc/self/fd")
	out, err := command.Output()
	must(t, err)
	if strings.Contains(string(out), dir) || strings.Contains(string(out), "eventfd") {
		t.Fatalf("another program has files of the store:\n%s", out)
	}
	q.Add("after")
	must(t, q.Err())
	must(t, store.Close())
}
