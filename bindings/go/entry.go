package wq

// This file has the entries of a queue as a View returns them.

// #include "border.h"
// #include "visits.h"
import "C"

import "time"

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
