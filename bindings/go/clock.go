package wq

// This file has the clock for tests.

// #include "metrics.h"
import "C"

import (
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
}

// NewManualClock returns a clock that shows this time.
func NewManualClock(now time.Time) *ManualClock {
	c := (*C.wqgo_clock)(C.calloc(1, C.sizeof_wqgo_clock))
	c.steady_us, c.wall_us = 1_000_000_000, C.int64_t(now.UnixMicro())
	clock := &ManualClock{c: c, stores: map[C.wq_store]bool{}}
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
	C.wqgo_advance(m.c, microseconds(d))
	for store := range m.stores {
		C.wq_store_clock_changed(store, nil) // Fails for a closed store, where no call waits.
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
