package wq

// This file has the clock for tests.

// #include "clock.h"
import "C"

import (
	"sync"
	"time"
	"unsafe"

	"example.org/wq/internal/remote"
)

// ManualClock is a clock for tests: its time changes only by Advance. Delays, pauses and limiters
// of the stores that use it (StoreOptions.Clock) follow it; timeouts of calls do not.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	stores map[*storeClock]bool // The set of those that have not ended.
}

// storeClock is the clock of one store.
type storeClock struct {
	of    *ManualClock
	c     *C.wqgo_clock // In C's memory, where the store's threads read it.
	store C.wq_store    // None until it is open. Under of.mu.
}

// NewManualClock returns a clock that shows this time.
func NewManualClock(now time.Time) *ManualClock {
	return &ManualClock{now: time.UnixMicro(now.UnixMicro()), stores: map[*storeClock]bool{}}
}

// Now returns the clock's time.
func (m *ManualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the time forward; keys that become due are ready soon after. It panics if d is
// negative.
func (m *ManualClock) Advance(d time.Duration) {
	if d < 0 {
		panic("wq: a clock does not go back")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	us := remote.Microseconds(d)
	m.now = m.now.Add(time.Duration(us) * time.Microsecond)
	for s := range m.stores {
		C.wqgo_advance(s.c, C.int64_t(us))
		C.wq_store_clock_changed(s.store, nil) // Fails if it is not open, where no call waits.
	}
}

// begin makes the clock of a store that is about to be opened.
func (m *ManualClock) begin() *storeClock {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &storeClock{of: m, c: (*C.wqgo_clock)(C.calloc(1, C.sizeof_wqgo_clock))}
	s.c.steady_us, s.c.wall_us = 1_000_000_000, C.int64_t(m.now.UnixMicro())
	m.stores[s] = true
	return s
}

// opened makes Advance wake the store. Nil: without effect.
func (s *storeClock) opened(store C.wq_store) {
	if s != nil {
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		s.store = store
	}
}

// end frees the clock. Nil: without effect. REQUIRES: C makes no further call.
func (s *storeClock) end() {
	if s != nil {
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		delete(s.of.stores, s)
		C.free(unsafe.Pointer(s.c))
	}
}
