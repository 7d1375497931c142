package wq

// This file has the Adds of a remote queue.

import (
	"encoding/json"
	"time"

	"example.org/wq/internal/remote"
)

func (q *remoteQueue) addRequest(keys []string, group string, o AddOptions) remote.AddRequest {
	r := remote.AddRequest{Queue: q.name, Keys: make([][]byte, len(keys)),
		Create: !q.options.MustExist, Lane: (*int32)(o.Lane), Durability: q.durability(o.Durability)}
	for i, key := range keys {
		r.Keys[i] = []byte(key)
	}
	if group != "" {
		r.Group = []byte(group)
	}
	if o.Reason != "" || o.TraceParent != "" {
		r.Cause = &remote.Cause{Reason: o.Reason, TraceParent: o.TraceParent}
	}
	if o.DelayMode != Earliest {
		r.DelayMode = map[DelayMode]string{
			Replace: "DELAY_MODE_REPLACE", ResyncLater: "DELAY_MODE_RESYNC"}[o.DelayMode]
	}
	if o.Debounce != nil {
		r.Debounce = &remote.Debounce{QuietUs: remote.Microseconds(o.Debounce.Quiet),
			MaxWaitUs: remote.Microseconds(o.Debounce.MaxWait)}
	}
	return r
}

// An addAt is an Add at an instant: its delay is that of the moment at which it is sent, so that it
// is no longer after an outage.
type addAt struct {
	remote.AddRequest
	at time.Time
}

func (a addAt) MarshalJSON() ([]byte, error) {
	a.DelayUs = remote.MicrosecondsUntil(a.at)
	return json.Marshal(a.AddRequest)
}

// addKeys makes one Add of the service: `request` is an AddRequest or an addAt.
func (q *remoteQueue) addKeys(request any, patient bool) (BatchResult, error) {
	var response remote.AddResponse
	var result BatchResult
	err := q.call("Queue/Add", request, &response, patient)
	if err != nil && codeOf(err) != NotDurable {
		return result, err
	}
	result.Added = int(response.Added)
	result.Deduplicated = int(response.Deduplicated)
	result.Held = int(response.Held)
	for _, r := range response.Refused {
		result.Refused = append(result.Refused,
			Refused{Index: int(r.Index), Err: fromRemote(r.Error.Err())})
	}
	return result, err
}

func (q *remoteQueue) add(key string) error {
	if q.shuttingDown() {
		return errShutDown
	}
	return q.whileFull(true, func() error { return q.addJoined(key) })
}

// whileFull repeats a patient Add until the queue has room for it, or is shut down: the server
// answers Full at once.
func (q *remoteQueue) whileFull(patient bool, add func() error) error {
	again := q.client.remote.NewRetry()
	for {
		err := add()
		if codeOf(err) != Full || !patient || !again.Wait(q.worker.Ended()) {
			return err
		}
	}
}

// addJoined adds the key together with those that others add meanwhile.
func (q *remoteQueue) addJoined(key string) error {
	return q.adds.Add(key, func(keys []string) []error {
		errs := make([]error, len(keys))
		q.addAll(keys, "", AddOptions{}, true, func(from, to int, result BatchResult, err error) {
			for i := from; i < to; i++ {
				errs[i] = err
			}
			for _, r := range result.Refused {
				errs[r.Index] = r.Err
			}
		})
		return errs
	})
}

// addAll adds keys by requests of a size that the server takes, and calls done with the result of
// each, which is of keys[from:to]; indexes are those of keys.
func (q *remoteQueue) addAll(keys []string, group string, o AddOptions, patient bool,
	done func(from, to int, result BatchResult, err error)) {
	for from := 0; from < len(keys); {
		to := from + remote.FirstBatch(keys[from:])
		result, err := q.addKeys(q.addRequest(keys[from:to], group, o), patient)
		valid := result.Refused[:0]
		for _, r := range result.Refused {
			if r.Index += from; r.Index < to {
				valid = append(valid, r)
			}
		}
		result.Refused = valid
		done(from, to, result, err)
		from = to
		if err != nil && codeOf(err) != NotDurable {
			done(from, len(keys), BatchResult{}, err)
			return
		}
	}
}

var errShutDown = newError(ShuttingDown, "the queue is shutting down")

func (q *remoteQueue) addWith(key string, call addCall) (Outcome, error) {
	if call.options.IfAbsent {
		return 0, errIfAbsent
	}
	if call.how == addRateLimited {
		if q.worker.IsHeld(key) {
			return Added, q.fail(key, call)
		}
		// The server counts failures of held keys alone; the event must not be lost.
		call.how = howOf(AddOptions{After: call.options.After})
	}
	var at time.Time
	if call.how == addAfter && call.options.After > 0 {
		at = time.Now().Add(call.options.After)
		if q.keepsLane(key, call.options) && q.worker.RequeueAt(key, at) {
			return Added, nil
		}
	}
	if q.shuttingDown() && !(call.how == addAfter && q.worker.IsHeld(key)) {
		return 0, errShutDown
	}
	return q.addOne(key, call, at)
}

// keepsLane reports whether the key would be added to the lane that it was assigned from.
func (q *remoteQueue) keepsLane(key string, o AddOptions) bool {
	if o.Lane == nil {
		return true
	}
	a, err := q.worker.Held(key)
	return err == nil && Lane(a.Lane) == *o.Lane
}

// addOne adds a key at the time; zero: now.
func (q *remoteQueue) addOne(key string, call addCall, at time.Time) (Outcome, error) {
	var request any = q.addRequest([]string{key}, call.group, call.options)
	if !at.IsZero() {
		request = addAt{request.(remote.AddRequest), at}
	}
	var result BatchResult
	err := q.whileFull(call.patient, func() (err error) {
		result, err = q.addKeys(request, call.patient)
		if len(result.Refused) > 0 {
			err = result.Refused[0].Err
		}
		return err
	})
	switch {
	case result.Held > 0:
		return Held, err
	case result.Deduplicated > 0:
		return Deduplicated, err
	}
	return Added, err
}

// fail counts a failure of a held key when it is done.
func (q *remoteQueue) fail(key string, call addCall) error {
	forget, at, err := q.worker.Fail(key, remote.Failed{Error: textOf(call.options.Failure)})
	if err != nil {
		return fromRemote(err)
	}
	if forget {
		err = q.changeKey(key, remote.ChangeRequest{Kind: "FORGET"}, call.patient)
	}
	if at != nil { // It was added with a delay, too.
		call.options = AddOptions{}
		if _, added := q.addOne(key, call, *at); added != nil {
			err = added
		}
	}
	return err
}

func (q *remoteQueue) addBatch(
	keys, groups []string, options AddOptions, patient bool) (BatchResult, error) {
	var all BatchResult
	if options.IfAbsent {
		return all, errIfAbsent
	}
	if q.shuttingDown() {
		return all, errShutDown
	}
	var notDurable error
	for _, part := range splitByGroup(keys, groups) {
		var failed error
		q.addAll(part.keys, part.group, options, patient,
			func(_, _ int, result BatchResult, err error) {
				switch {
				case codeOf(err) == NotDurable:
					notDurable = err
				case err != nil:
					failed = err
				}
				all.Added += result.Added
				all.Deduplicated += result.Deduplicated
				all.Held += result.Held
				for _, r := range result.Refused {
					all.Refused = append(all.Refused, Refused{part.indexes[r.Index], r.Err})
				}
			})
		if failed != nil {
			return all, failed
		}
	}
	return all, notDurable
}

// keysOfGroup are keys of one group; indexes are theirs among all.
type keysOfGroup struct {
	group   string
	keys    []string
	indexes []int
}

// splitByGroup returns the groups in the order of their first keys.
func splitByGroup(keys, groups []string) []*keysOfGroup {
	var all []*keysOfGroup
	known := map[string]*keysOfGroup{}
	for i, key := range keys {
		group := ""
		if groups != nil {
			group = groups[i]
		}
		part := known[group]
		if part == nil {
			part = &keysOfGroup{group: group}
			known[group] = part
			all = append(all, part)
		}
		part.keys = append(part.keys, key)
		part.indexes = append(part.indexes, i)
	}
	return all
}
