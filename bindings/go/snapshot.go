package wq

// This file creates, lists and restores snapshots.

// #include "border.h"
// #include "visits.h"
import "C"

import (
	"context"
	"time"
)

// SnapshotOptions are the options of CreateSnapshot.
type SnapshotOptions struct {
	Name       string // 1 to 64 of [A-Za-z0-9._-], not starting with a dot; "": the present time.
	CopyTables bool   // Copies tables, not links them: protects against damage on the disk.
}

// CreateSnapshot copies the present contents of the store in the directory store to a directory
// below dir, and returns its path. It works beside a running owner, which takes no part in it, and
// after a crash. OpenView opens a snapshot like a store. ctx.Err(): the context ended first, and
// nothing is left. Blocks, and holds a thread: for reading the whole store.
func CreateSnapshot(
	ctx context.Context, store, dir string, options SnapshotOptions) (string, error) {
	return makeUntil(ctx, func(cancelled *C.int32_t, path *C.wq_bytes, a *arena,
		e *C.wq_error) C.wq_code {
		var name *C.char
		if options.Name != "" {
			name = a.text(options.Name)
		}
		return C.wqgo_snapshot(a.text(store), a.text(dir), name, toInt(options.CopyTables),
			cancelled, path, e)
	}, store, dir, options.Name)
}

// RestoreSnapshot restores a snapshot as a store in the directory into, which must not exist, or be
// empty. snapshot is a snapshot, or a directory of snapshots, of which the latest is restored; its
// path is returned. The new store has a new UUID. ctx.Err(): the context ended first, and nothing
// is left. Blocks, and holds a thread.
func RestoreSnapshot(ctx context.Context, snapshot, into string) (string, error) {
	return makeUntil(ctx, func(cancelled *C.int32_t, from *C.wq_bytes, a *arena,
		e *C.wq_error) C.wq_code {
		return C.wqgo_restore(a.text(snapshot), a.text(into), cancelled, from, e)
	}, snapshot, into)
}

// makeUntil makes a call that ends with the context; the names must be C strings.
func makeUntil(
	ctx context.Context,
	body func(cancelled *C.int32_t, path *C.wq_bytes, a *arena, e *C.wq_error) C.wq_code,
	names ...string) (string, error) {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var a arena
	defer a.free()
	cancelled := (*C.int32_t)(a.zeroed(1, C.sizeof_int32_t))
	done, watched := make(chan bool), make(chan bool)
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			C.wqgo_cancel(cancelled)
		case <-done:
		}
	}()
	path, err := readBytes(func(path *C.wq_bytes, e *C.wq_error) C.wq_code {
		return body(cancelled, path, &a, e)
	})
	close(done)
	<-watched // The goroutine uses the arena.
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return path, err
}

// Snapshot is a snapshot that ListSnapshots found.
type Snapshot struct {
	Name        string
	Path        string
	UUID        string // Of its store.
	TakenAt     time.Time
	Bytes       uint64 // Of all its files.
	LinkedBytes uint64 // Of these, in tables that the store or other snapshots share.
}

// ListSnapshots returns the snapshots in the directory, oldest first; if it is a snapshot itself,
// that snapshot. NotFound: the directory does not exist, or holds no snapshot.
func ListSnapshots(dir string) ([]Snapshot, error) {
	parts, err := withNameAndKeys(dir, func(dir *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wqgo_snapshots(dir, list, e)
	})
	var all []Snapshot
	for ; len(parts) > 0; parts = parts[6:] {
		all = append(all, Snapshot{
			Name: parts[0], Path: parts[1], UUID: parts[2], TakenAt: timeOf(number(parts[3])),
			Bytes: uint64(number(parts[4])), LinkedBytes: uint64(number(parts[5]))})
	}
	return all, err
}
