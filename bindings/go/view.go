package wq

// This file reads stores without owning them, and has the entries of their queues.

// #include "border.h"
// #include "visits.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"time"
)

// View reads a store, or a snapshot, without owning it and without changing one byte of it, also
// beside its owner. It reads the store as it was on disk when the view was opened, and so does not
// distinguish pending keys that a worker holds.
//
//	view, err := wq.OpenView("pods.wq")
//	if err != nil {
//		return err
//	}
//	defer view.Close()
//	err = view.Entries("pods", func(e wq.Entry) bool { fmt.Println(e.Key, e.State); return true })
//
// Calls of one view wait for each other, and hold a thread. A function that is called with entries
// must not call the view; it may panic, but not end its goroutine otherwise. An unreachable View is
// closed.
type View struct {
	handle C.wq_view
}

// OpenView opens a view of the store in the directory. NotFound: the store does not exist.
// Corruption: the message names the file. NotSupported: another format version. Never Locked.
func OpenView(dir string) (*View, error) {
	v := &View{}
	err := withName(dir, func(dir *C.char, e *C.wq_error) C.wq_code {
		return C.wq_view_open(dir, &v.handle, e)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(v, func(v *View) { go v.Close() })
	return v, nil
}

// Close closes the view. Later calls fail with ShuttingDown. Idempotent.
func (v *View) Close() error {
	runtime.SetFinalizer(v, nil)
	err := v.call(func(e *C.wq_error) C.wq_code { return C.wq_view_free(v.handle, e) })
	if codeOf(err) == ShuttingDown {
		return nil
	}
	return err
}

// call makes a call about the view, and keeps the view alive until it returns.
func (v *View) call(body func(e *C.wq_error) C.wq_code) error {
	defer runtime.KeepAlive(v)
	return viewError(call(body))
}

func viewError(err error) error {
	if codeOf(err) == ShuttingDown {
		return newError(ShuttingDown, "the view is closed")
	}
	return err
}

// StoreInfo describes a store.
type StoreInfo struct {
	UUID          string
	FormatVersion uint32
	CreatedAt     time.Time
	SnapshotAt    time.Time // When it was created, for a snapshot; otherwise zero.
	OwnerPID      int       // Of the last owner; 0 if the store never had one.
	OwnerAlive    bool      // The owner holds the store now.
	OpenedAt      time.Time // When it became the owner; zero if unknown.
	WrittenAt     time.Time // When a file of the store was last written; zero if unknown.
	WALBytes      uint64    // Not 0 without a living owner: the last one did not close the store.
	// ProcessLogBytes is the size of the process log's file; 0 if the store has none.
	ProcessLogBytes uint64
}

// Info returns a description of the store.
func (v *View) Info() (StoreInfo, error) {
	info := C.wq_store_info{size: C.sizeof_wq_store_info}
	err := v.call(func(e *C.wq_error) C.wq_code { return C.wq_view_info(v.handle, &info, e) })
	if err != nil {
		return StoreInfo{}, err
	}
	return StoreInfo{
		UUID: C.GoString(&info.uuid[0]), FormatVersion: uint32(info.format_version),
		CreatedAt: timeOf(int64(info.created_at_us)), SnapshotAt: timeOf(int64(info.snapshot_at_us)),
		OwnerPID: int(info.owner_pid), OwnerAlive: info.owner_alive != 0,
		OpenedAt: timeOf(int64(info.opened_at_us)), WrittenAt: timeOf(int64(info.written_at_us)),
		WALBytes: uint64(info.wal_bytes), ProcessLogBytes: uint64(info.process_log_bytes)}, nil
}

// QueueNames are those of all queues, sorted.
func (v *View) QueueNames() ([]string, error) {
	defer runtime.KeepAlive(v)
	names, err := readKeys(func(names *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_view_queue_names(v.handle, names, e)
	})
	return names, viewError(err)
}

// Summary has the counts of a queue's contents.
type Summary struct {
	Pending     uint64
	Lanes       map[Lane]uint64 // Pending, by lane.
	Delayed     uint64
	Failing     uint64 // Except quarantined keys.
	Quarantined uint64
	Paused      bool
	PausedUntil time.Time // Zero: until Resume, or not paused.
	OldestAdded time.Time // Of the pending keys; zero: no key is pending.
	NextReady   time.Time // Of the delayed keys; zero: no key is delayed.
	Shards      int       // As in the last opening with shards.
	Groups      uint64    // Of the pending keys.
}

// Summarize counts the queue's contents. NotFound: the queue does not exist.
func (v *View) Summarize(queue string) (Summary, error) {
	var c C.wq_queue_summary
	lanes, err := withNameAndKeys(queue,
		func(queue *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
			return C.wqgo_summarize(v.handle, queue, &c, list, e)
		})
	runtime.KeepAlive(v)
	if err != nil {
		return Summary{}, viewError(err)
	}
	ifAny := func(us C.int64_t) time.Time {
		if us < 0 {
			return time.Time{}
		}
		return time.UnixMicro(int64(us))
	}
	s := Summary{
		Pending: uint64(c.pending), Lanes: map[Lane]uint64{}, Delayed: uint64(c.delayed),
		Failing: uint64(c.failing), Quarantined: uint64(c.quarantined), Paused: c.paused != 0,
		PausedUntil: ifAny(c.paused_until_us), OldestAdded: ifAny(c.oldest_added_at_us),
		NextReady: ifAny(c.next_ready_at_us), Shards: int(c.shards), Groups: uint64(c.groups)}
	for ; len(lanes) > 0; lanes = lanes[2:] {
		s.Lanes[Lane(number(lanes[0]))] = uint64(number(lanes[1]))
	}
	return s, nil
}

// Entries calls visit with every entry of the queue until it returns false: the pending entries in
// hand-out order, then the delayed ones by ReadyAt, the failing ones by key, and the quarantined
// ones by key. With states, it visits only the entries in those. NotFound: the queue does not
// exist.
func (v *View) Entries(queue string, visit func(Entry) bool, states ...State) error {
	var bits C.uint32_t
	if len(states) == 0 {
		states = []State{Pending, Delayed, Failing, Quarantined}
	}
	for _, s := range states {
		if s < Pending || s > Quarantined {
			return newError(InvalidArgument, "there is no such state")
		}
		bits |= 1 << s
	}
	to := &sink{visit: visit, more: true}
	handle := cgo.NewHandle(to)
	defer handle.Delete()
	_, err := withNameAndKeys(queue, func(queue *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
		code := C.wqgo_entries(v.handle, queue, bits, C.uintptr_t(handle), list, e)
		list.size = 0 // The sink has taken all of it.
		return code
	})
	runtime.KeepAlive(v)
	if to.panicked != nil {
		panic(to.panicked)
	}
	return viewError(err)
}

// Find returns the entries of one key, at most one per state. NotFound: the queue does not hold the
// key.
func (v *View) Find(queue, key string) ([]Entry, error) {
	data, size := bytesOf(key)
	parts, err := withNameAndKeys(queue,
		func(queue *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
			return C.wqgo_find(v.handle, queue, data, size, list, e)
		})
	runtime.KeepAlive(v)
	runtime.KeepAlive(key)
	var entries []Entry
	for ; len(parts) > 0; parts = parts[partsOfEntry:] {
		entries = append(entries, parseEntry(parts))
	}
	return entries, viewError(err)
}

// Limits returns the limits that were set by Queue.SetLimits, by group.
func (v *View) Limits(queue string) (map[string]GroupLimits, error) {
	parts, err := withNameAndKeys(queue,
		func(queue *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
			return C.wqgo_view_limits(v.handle, queue, list, e)
		})
	runtime.KeepAlive(v)
	if err != nil {
		return nil, viewError(err)
	}
	return limitsByGroup(parts), nil
}

// Cursors returns the queue's cursors by name.
func (v *View) Cursors(queue string) (map[string]string, error) {
	parts, err := withNameAndKeys(queue,
		func(queue *C.char, list *C.wq_bytes, e *C.wq_error) C.wq_code {
			return C.wqgo_view_cursors(v.handle, queue, list, e)
		})
	runtime.KeepAlive(v)
	if err != nil {
		return nil, viewError(err)
	}
	return pairs(parts), nil
}

// State is the state of an Entry.
type State int32

const (
	Pending     State = C.WQ_PENDING // Queued, or held by a worker now or at the crash.
	Delayed     State = C.WQ_DELAYED
	Failing     State = C.WQ_FAILING // Only has a failure count.
	Quarantined State = C.WQ_QUARANTINED
)

// String returns the state's name, as in wqctl.
func (s State) String() string {
	if s < Pending || s > Quarantined {
		return "?"
	}
	return [...]string{"pending", "delayed", "failing", "quarantined"}[s]
}

// Entry is one key of a queue in one state, as it is stored. It has a key rather than an item,
// because the queue may be another program's.
type Entry struct {
	Key           string
	State         State
	Lane          Lane          // Not failing.
	Group         string        // Not failing; "": none.
	Shard         int           // -1: the queue has no shards.
	Sequence      uint64        // Pending: the place in its lane; smaller is earlier.
	AddedAt       time.Time     // Pending, delayed.
	ReadyAt       time.Time     // Delayed.
	Delay         time.Duration // Delayed: the requested delay.
	QuarantinedAt time.Time
	Failures      *Failures // Nil: none.
}

// Failures are the failures of a key.
type Failures struct {
	Count     uint64
	First     time.Time
	Last      time.Time
	LastError string
}

// partsOfEntry is the number of parts that visits.h writes for an entry.
const partsOfEntry = 4

// parseEntry reads the parts of an entry.
func parseEntry(parts []string) Entry {
	numbers := parts[3]
	next := func() int64 {
		n := number(numbers)
		numbers = numbers[8:]
		return n
	}
	e := Entry{Key: parts[0], Group: parts[1]}
	e.State, e.Lane, e.Shard, e.Sequence = State(next()), Lane(next()), int(next()), uint64(next())
	e.AddedAt, e.ReadyAt = timeOf(next()), timeOf(next())
	e.Delay = time.Duration(next()) * time.Microsecond
	e.QuarantinedAt = timeOf(next())
	if next() != 0 {
		e.Failures = &Failures{
			Count: uint64(next()), First: timeOf(next()), Last: timeOf(next()), LastError: parts[2]}
	}
	return e
}

// timeOf converts a time that visits.h wrote; 0 is the zero time.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// sink receives the entries of a view.
type sink struct {
	visit    func(Entry) bool
	more     bool // The visit goes on.
	panicked any  // The value of visit's panic, which must not unwind through C.
}

// take passes a list of visits.h to visit; false: the visit has ended.
func (s *sink) take(list string) bool {
	if !s.more {
		return false
	}
	s.more = false // In case visit panics or returns false.
	defer func() { s.panicked = recover() }()
	for parts := splitKeys(list, 64); len(parts) > 0; parts = parts[partsOfEntry:] {
		if !s.visit(parseEntry(parts)) {
			return false
		}
	}
	s.more = true
	return true
}
