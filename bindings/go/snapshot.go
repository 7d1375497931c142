package wq

// #include "border.h"
// #include "visits.h"
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// SnapshotOptions is how CreateSnapshot makes one.
type SnapshotOptions struct {
	Name       string // 1 to 64 of [A-Za-z0-9._-], no dot in front; "": the present time.
	CopyTables bool   // Even where they could be hard links: against damage on the disk.
}

// CreateSnapshot keeps what the store in the directory `store` holds now, in a directory below dir, and
// returns where. It works beside a running owner, who takes no part in it, and after a crash. OpenView
// takes a snapshot as a store. ctx.Err(): the context ended first, and nothing is left. Blocks, and holds a
// thread: for reading all of the store.
func CreateSnapshot(ctx context.Context, store, dir string, options SnapshotOptions) (string, error) {
	return makeUntil(ctx, func(cancelled *C.int32_t, path *C.wq_bytes, a *arena, e *C.wq_error) C.wq_code {
		var name *C.char
		if options.Name != "" {
			name = a.text(options.Name)
		}
		return C.wqgo_snapshot(a.text(store), a.text(dir), name, toInt(options.CopyTables), cancelled, path, e)
	}, store, dir, options.Name)
}

// RestoreSnapshot makes a store of a snapshot in the directory `into`, which must not be there, or be empty.
// snapshot is one, or a directory of them, and then it is the latest; which one is returned. The new store has
// a UUID of its own. ctx.Err(): the context ended first, and nothing is left. Blocks, and holds a thread.
func RestoreSnapshot(ctx context.Context, snapshot, into string) (string, error) {
	return makeUntil(ctx, func(cancelled *C.int32_t, from *C.wq_bytes, a *arena, e *C.wq_error) C.wq_code {
		return C.wqgo_restore(a.text(snapshot), a.text(into), cancelled, from, e)
	}, snapshot, into)
}

// text is a C string that lives as long as the arena.
func (a *arena) text(s string) *C.char {
	c := C.CString(s)
	*a = append(*a, unsafe.Pointer(c))
	return c
}

// makeUntil makes a call that ends with the context, on names that must be C strings.
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
	<-watched // It looks at the arena.
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return path, err
}

// Snapshot is one of those that ListSnapshots found.
type Snapshot struct {
	Name        string
	Path        string
	UUID        string // Of the store that it was taken of.
	TakenAt     time.Time
	Bytes       uint64 // Of all its files.
	LinkedBytes uint64 // Of these, in tables that others (the store, other snapshots) have, too.
}

// ListSnapshots is those in the directory, oldest first. If it is a snapshot, that one. NotFound: there is no
// such directory, or it holds none.
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
