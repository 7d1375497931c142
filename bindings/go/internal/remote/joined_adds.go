package remote

// This file joins the Adds of many goroutines into one call.

import "sync"

// JoinedAdds joins concurrent Adds: those that arrive during a call wait here, without a thread,
// and are made by the next one. So a thousand goroutines in Add cost one thread, and share one
// write.
type JoinedAdds struct {
	mu      sync.Mutex
	busy    bool // A call is running.
	waiting []*joined
}

// joined is an Add that waits for a running call.
type joined struct {
	key string
	led chan []*joined // Receives the Adds that it has to make, itself first; nil: it was made.
	err error          // Valid if it was made.
}

// MaxJoined bounds the keys of one call.
const MaxJoined = 1000

// MaxBatchBytes bounds the keys of one request: a server takes messages of 4 MiB, in which a key
// has four thirds of its bytes.
const MaxBatchBytes = 1 << 20

// FirstBatch returns how many of the keys fit into one request, at least one.
func FirstBatch(keys []string) int {
	bytes := 0
	for i, key := range keys {
		if bytes += len(key) + 3; i > 0 && (i == MaxJoined || bytes > MaxBatchBytes) {
			return i
		}
	}
	return len(keys)
}

// Add calls `call` for the key and for those that arrived during the call before, and returns the
// key's error, which `call` returns at the key's index.
func (b *JoinedAdds) Add(key string, call func(keys []string) []error) error {
	j := &joined{key: key, led: make(chan []*joined, 1)}
	b.mu.Lock()
	if b.busy {
		b.waiting = append(b.waiting, j)
	} else {
		b.busy = true
		j.led <- []*joined{j}
	}
	b.mu.Unlock()
	led := <-j.led
	if led == nil {
		return j.err
	}
	keys := make([]string, len(led))
	for i, l := range led {
		keys[i] = l.key
	}
	errs := call(keys)
	b.endCall()
	for i, l := range led[1:] {
		l.err = errs[i+1]
		l.led <- nil
	}
	return errs[0]
}

// endCall ends a call, and makes a waiting Add lead the next one.
func (b *JoinedAdds) endCall() {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.waiting)
	if n == 0 {
		b.busy = false
		return
	}
	if n > MaxJoined {
		n = MaxJoined
	}
	led := b.waiting[:n:n]
	b.waiting = append([]*joined(nil), b.waiting[n:]...)
	led[0].led <- led
}
