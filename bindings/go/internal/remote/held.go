package remote

// This file has the held keys of a worker, and what is answered for them.

import (
	"fmt"
	"time"
)

// holding is a held key.
type holding struct {
	assignment Assignment
	stream     *stream // That assigned it. If it has ended, the server has given the key back.
	lost       string  // Why the server took the key away; "": it did not.

	// What the holder has asked for.
	failed    *Failed
	forgotten bool       // The failures before `failed`.
	requeueAt *time.Time // Only if forgotten and not failed.
}

// Held returns a held key. NotProcessing: it is not held, or not any more.
func (w *Worker) Held(key string) (Assignment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := w.holding(key)
	if err != nil {
		return Assignment{}, err
	}
	a := h.assignment
	if h.forgotten {
		a.Failures = 0
	}
	if h.failed != nil {
		a.Failures++
	}
	return a, nil
}

// holding returns a key that the worker holds by the present stream. REQUIRES: mu.
func (w *Worker) holding(key string) (*holding, error) {
	h := w.held[key]
	switch {
	case h == nil:
		return nil, &Error{Code: codeNotProcessing,
			Message: fmt.Sprintf("the key %q is not held", key)}
	case h.stream != w.stream || w.stream == nil:
		return nil, &Error{Code: codeNotProcessing, Message: fmt.Sprintf(
			"the key %q was given back when the connection broke", key)}
	case h.lost != "":
		return nil, &Error{Code: codeNotProcessing, Message: fmt.Sprintf(
			"the key %q was taken from this worker: %s", key, h.lost)}
	}
	return h, nil
}

// IsHeld reports whether a Get has returned the key and no Done has ended it.
func (w *Worker) IsHeld(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[key] != nil
}

// Forget plans to forget the failures of a key when it is done. False: the caller has to do it now,
// as the key is not held, or Fail has planned a failure, which stays.
func (w *Worker) Forget(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.held[key]
	if h == nil {
		return false
	}
	h.forgotten = true
	return h.failed == nil
}

// Fail plans to count a failure of a held key when it is done. forget: the failures before have to
// be forgotten first. requeueAt: the time of RequeueAt, which is cancelled; nil: none.
func (w *Worker) Fail(key string, failed Failed) (forget bool, requeueAt *time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.held[key]
	if h == nil {
		return false, nil, &Error{Code: codeNotProcessing, Message: fmt.Sprintf(
			"the key %q is not held: a remote queue counts the failures of held keys only", key)}
	}
	forget = h.forgotten && h.failed == nil && h.assignment.Failures > 0
	requeueAt, h.requeueAt = h.requeueAt, nil
	if h.failed == nil || !h.failed.Quarantine {
		h.failed = &failed
	}
	return forget, requeueAt, nil
}

// RequeueAt plans to add a held key at that time, when it is done. False: the key is not held, or
// its failures are not to be forgotten; then the caller adds it now, with a delay.
func (w *Worker) RequeueAt(key string, at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.held[key]
	if h == nil || !h.forgotten || h.failed != nil {
		return false
	}
	if h.requeueAt == nil || at.Before(*h.requeueAt) {
		h.requeueAt = &at
	}
	return true
}

// Done ends the processing of a held key, and does not wait for the server. NotProcessing: the key
// is not held, or the server has given it back.
func (w *Worker) Done(key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done(key, nil)
}

// Finish is Done, and waits for the server's answer.
func (w *Worker) Finish(keys []string) error {
	results := make(chan error, len(keys))
	var failed error
	sent := 0
	w.mu.Lock()
	for _, key := range keys {
		if err := w.done(key, results); err != nil {
			failed = err
		} else {
			sent++
		}
	}
	w.mu.Unlock()
	for ; sent > 0; sent-- {
		if err := <-results; err != nil {
			failed = err
		}
	}
	return failed
}

// done ends the processing of a key; result receives the server's answer, unless done fails. If
// result is nil, a refusal is reported. REQUIRES: mu.
func (w *Worker) done(key string, result chan<- error) error {
	h := w.held[key]
	if h == nil {
		return &Error{Code: codeNotProcessing, Message: fmt.Sprintf("the key %q is not held", key)}
	}
	_, err := w.holding(key)
	delete(w.held, key)
	if h.stream == w.stream && w.stream != nil { // Also of a lost key, to free its place.
		r := reply{Answer: Answer{Token: h.assignment.Token}, result: result}
		r.refusedIsFine = h.lost != ""
		switch {
		case h.failed != nil:
			r.Failed = h.failed
		case h.requeueAt != nil:
			r.RequeueAfter = &RequeueAfter{DelayUs: MicrosecondsUntil(*h.requeueAt)}
		default:
			r.Done = &Empty{}
		}
		if err != nil {
			r.result = nil
		}
		w.stream.answer(r)
	}
	if a := w.deferred[key]; a != nil {
		delete(w.deferred, key)
		w.ready = append(w.ready, *a)
		w.dispatch()
	}
	w.poke()
	return err
}

// Microseconds rounds up, so that no delay is shorter than asked for, and none becomes 0.
func Microseconds(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// MicrosecondsUntil is 0 of a time that is over.
func MicrosecondsUntil(at time.Time) int64 {
	if d := time.Until(at); d > 0 {
		return Microseconds(d)
	}
	return 0
}
