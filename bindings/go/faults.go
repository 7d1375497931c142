package wq

import "sync"

// faults keeps what failed in calls that return no error. Thread-safe.
type faults struct {
	mu      sync.Mutex
	last    error
	channel chan error // Made when somebody asks for it.
}

// So many errors wait for a reader of the channel.
const faultsKept = 64

func (f *faults) report(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = err
	select {
	case f.channel <- err: // Of no channel: never.
	default:
	}
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *faults) errors() <-chan error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.channel == nil {
		f.channel = make(chan error, faultsKept)
	}
	return f.channel
}
