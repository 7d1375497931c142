package wq

// This file has the clock for tests.

// #include "clock.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// ManualClock is a clock for tests: its time changes only by Advance. Delays, pauses and limiters
// of the stores that use it (StoreOptions.Clock) follow it; timeouts of calls do not.
type ManualClock struct {
	c *C.wqgo_clock // In C's memory, where its threads read it.

	mu     sync.Mutex
	stores map[C.wq_store]bool // The set of open stores.
	timers map[chan time.Time]time.Time
}

// NewManualClock returns a clock that shows this time.
func NewManualClock(now time.Time) *ManualClock {
	c := (*C.wqgo_clock)(C.calloc(1, C.sizeof_wqgo_clock))
	c.steady_us, c.wall_us = 1_000_000_000, C.int64_t(now.UnixMicro())
	clock := &ManualClock{c: c, stores: map[C.wq_store]bool{},
		timers: map[chan time.Time]time.Time{}}
	runtime.SetFinalizer(clock, func(m *ManualClock) { C.free(unsafe.Pointer(m.c)) })
	return clock
}

// Now returns the clock's time.
func (m *ManualClock) Now() time.Time {
	defer runtime.KeepAlive(m)
	return time.UnixMicro(int64(C.wqgo_wall_us(unsafe.Pointer(m.c))))
}

// Advance moves the time forward; keys that become due are ready soon after. It panics if d is
// negative.
func (m *ManualClock) Advance(d time.Duration) {
	if d < 0 {
		panic("wq: a clock does not go back")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	C.wqgo_advance(m.c, C.int64_t(microseconds(d)))
	for store := range m.stores {
		C.wq_store_clock_changed(store, nil) // Fails for a closed store, where no call waits.
	}
	now := m.Now()
	for timer, end := range m.timers {
		if !end.After(now) {
			timer <- now
			delete(m.timers, timer)
		}
	}
}

// After returns a channel that receives the time of the Advance that reaches now + d.
func (m *ManualClock) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	timer, now := make(chan time.Time, 1), m.Now()
	if d <= 0 {
		timer <- now
	} else {
		m.timers[timer] = now.Add(d)
	}
	return timer
}

// manualClock returns the clock that a store has; nil: the machine's clocks. If follow is not nil,
// the store's clock must follow it.
func manualClock(given Clock) (clock *ManualClock, follow Clock, err error) {
	switch given := given.(type) {
	case nil:
		return nil, nil, nil
	case *ManualClock:
		return given, nil, nil
	}
	start := given.Now()
	if !given.Now().Equal(start) {
		return nil, nil, newError(InvalidArgument, fmt.Sprintf(
			"the Clock %T runs by itself; without one, a store has the machine's clocks", given))
	}
	return NewManualClock(start), given, nil
}

// follow advances the clock as `other` advances, until the end. REQUIRES: both showed the same time
// before, up to microseconds.
func (m *ManualClock) follow(other Clock, end <-chan struct{}) {
	for {
		changed := other.After(time.Microsecond) // Before Now, so that no step is missed.
		if d := other.Now().Truncate(time.Microsecond).Sub(m.Now()); d > 0 {
			m.Advance(d)
		}
		select {
		case <-changed:
		case <-end:
			return
		}
	}
}

func (m *ManualClock) watch(store C.wq_store) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores[store] = true
}

func (m *ManualClock) forget(store C.wq_store) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stores, store)
}
