package wq

// #include "border.h"
// #include "visits.h"
import "C"

import "time"

// State is what an Entry is.
type State int32

const (
	Pending     State = C.WQ_PENDING // Queued, or held by a worker at this moment or at the crash.
	Delayed     State = C.WQ_DELAYED
	Failing     State = C.WQ_FAILING // Only a failure count is kept.
	Quarantined State = C.WQ_QUARANTINED
)

// String is wqctl's word for it.
func (s State) String() string {
	if s < Pending || s > Quarantined {
		return "?"
	}
	return [...]string{"pending", "delayed", "failing", "quarantined"}[s]
}

// Entry is one key of a queue in one state, as it stands in a store. Keys rather than items: they may be of
// another program.
type Entry struct {
	Key           string
	State         State
	Lane          Lane          // Not failing.
	Group         string        // Not failing; "": none.
	Shard         int           // -1: the queue has no shards.
	Sequence      uint64        // Pending: the place in its lane; smaller is earlier.
	AddedAt       time.Time     // Pending, delayed.
	ReadyAt       time.Time     // Delayed.
	Delay         time.Duration // Delayed: what was asked for.
	QuarantinedAt time.Time
	Failures      *Failures // Nil: none.
}

// Failures are what is kept of a key that failed.
type Failures struct {
	Count     uint64
	First     time.Time
	Last      time.Time
	LastError string
}

// partsOfEntry is how many parts visits.h writes for an entry.
const partsOfEntry = 4

// parseEntry reads them.
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

// timeOf is the zero time for 0, which is what does not count.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// sink is where the entries of a view go.
type sink struct {
	visit    func(Entry) bool
	more     bool // It wants them.
	panicked any  // Why it ended with a panic, which must not go through C.
}

// take passes on what visits.h wrote; false: no more.
func (s *sink) take(list string) bool {
	if !s.more {
		return false
	}
	s.more = false // Unless it comes to its end.
	defer func() { s.panicked = recover() }()
	for parts := splitKeys(list, 64); len(parts) > 0; parts = parts[partsOfEntry:] {
		if !s.visit(parseEntry(parts)) {
			return false
		}
	}
	s.more = true
	return true
}
