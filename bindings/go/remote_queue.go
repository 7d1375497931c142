package wq

// This file has the queue of a Client.

import (
	"context"
	"fmt"
	"math"
	"time"

	"example.org/wq/internal/remote"
)

// remoteQueue is a queue of a server.
type remoteQueue struct {
	client   *Client
	name     string
	options  QueueOptions[string]
	failures *failures
	worker   *remote.Worker
	ctx      context.Context // Ends by close.
	cancel   context.CancelFunc
	adds     remote.JoinedAdds
}

func newRemoteQueue(c *Client, name string, request openRequest) *remoteQueue {
	q := &remoteQueue{
		client: c, name: name, options: request.options, failures: request.failures}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	q.worker = remote.NewWorker(c.remote, remote.WorkerOptions{
		Queue: name, Name: c.options.Name,
		SilenceLimit: c.options.SilenceLimit, KeyLimit: c.options.KeyLimit,
		Report: func(err error) { q.failures.report(fromRemote(err)) }})
	return q
}

// end closes the queue.
func (q *remoteQueue) end() {
	q.worker.Close()
	q.cancel()
}

func (q *remoteQueue) close() error {
	q.client.mu.Lock()
	delete(q.client.queues, q)
	q.client.mu.Unlock()
	q.end()
	return nil
}

// call makes a call. If it is patient, it is repeated until the server answers or the queue is shut
// down, and the first error of an outage is reported.
func (q *remoteQueue) call(method string, request, response any, patient bool) error {
	again := q.client.remote.NewRetry()
	for reported := false; ; {
		err := q.client.remote.Call(q.ctx, method, request, response)
		if q.ctx.Err() != nil {
			return errQueueClosed
		}
		if err == nil || !patient || !remote.Retryable(err) {
			return fromRemote(err)
		}
		if !reported {
			q.failures.report(fromRemote(err))
			reported = true
		}
		if !again.Wait(q.worker.Ended()) {
			return fromRemote(err)
		}
	}
}

func (q *remoteQueue) shuttingDown() bool {
	select {
	case <-q.worker.Ended():
		return true
	default:
		return false
	}
}

// durability returns a call's durability, or else that of the queue's options.
func (q *remoteQueue) durability(d Durability) string {
	if d == DefaultDurability {
		d = q.options.Durability
	}
	return durabilityName(d)
}

func (q *remoteQueue) get(ctx context.Context, max int) ([]taken, error) {
	assigned, err := q.worker.Get(ctx, max)
	keys := make([]taken, len(assigned))
	for i, a := range assigned {
		keys[i] = taken{string(a.Key), Lane(a.Lane)}
	}
	return keys, fromRemote(err)
}

func (q *remoteQueue) waitingGets() int { return q.worker.Waiting() }

func (q *remoteQueue) done(key string) error { return fromRemote(q.worker.Done(key)) }

func (q *remoteQueue) doneBatch(keys []string) error { return fromRemote(q.worker.Finish(keys)) }

var changeKinds = map[change]string{changeForget: "FORGET", changeRemove: "REMOVE",
	changeCancelDelay: "CANCEL_DELAY", changeEndDelay: "REQUEUE", changeRelease: "RELEASE",
	changeDrop: "DROP", changeDelete: "DELETE"}

func (q *remoteQueue) change(key string, what change) error {
	if what == changeDone {
		return q.doneBatch([]string{key})
	}
	forget := what == changeForget
	if forget && q.worker.Forget(key) {
		return nil
	}
	err := q.changeKey(key, remote.ChangeRequest{Kind: changeKinds[what]}, forget)
	if forget && codeOf(err) == NotFound { // It has no failures.
		return nil
	}
	return err
}

func (q *remoteQueue) releaseAfter(key string, delay time.Duration) error {
	change := remote.ChangeRequest{Kind: "RELEASE"}
	if delay > 0 {
		change.DelayUs = remote.Microseconds(delay)
	}
	return q.changeKey(key, change, false)
}

func (q *remoteQueue) changeKey(key string, change remote.ChangeRequest, patient bool) error {
	var response remote.ChangeResponse
	q.worker.Flush()
	change.Queue = q.name
	change.Keys = [][]byte{[]byte(key)}
	change.Durability = q.durability(DefaultDurability)
	err := q.call("Admin/Change", change, &response, patient)
	if err == nil && len(response.Absent) > 0 {
		return newError(NotFound, fmt.Sprintf("the change does not apply to the key %q", key))
	}
	return err
}

func (q *remoteQueue) numRequeues(key string) (int, error) {
	a, err := q.worker.Held(key)
	return int(a.Failures), fromRemote(err)
}

func (q *remoteQueue) causes(key string) (Causes, error) {
	a, err := q.worker.Held(key)
	causes := Causes{LeftOut: int(a.CausesLeftOut)}
	for _, c := range a.Causes {
		causes.List = append(causes.List, Cause(c))
	}
	return causes, fromRemote(err)
}

func (q *remoteQueue) token(key string) (uint64, error) {
	a, err := q.worker.Held(key)
	return uint64(a.Token), fromRemote(err)
}

func (q *remoteQueue) addedAgain(key string) (bool, error) {
	again, err := q.worker.AddedAgain(key)
	return again, fromRemote(err)
}

func (q *remoteQueue) quarantine(key, reason string) error {
	_, _, err := q.worker.Fail(key, remote.Failed{Error: bounded(reason), Quarantine: true})
	return fromRemote(err)
}

// maxFound is the most that a search of the service returns.
const maxFound = 1000

// search calls visit with the keys in a state, at most limit.
func (q *remoteQueue) search(state, sort string, limit int, visit func(remote.KeyRow)) error {
	q.worker.Flush()
	request := remote.SearchRequest{Queue: q.name, Sort: sort, Limit: maxFound,
		Filter: remote.KeyFilter{States: []string{state}}}
	for limit > 0 {
		if limit < maxFound {
			request.Limit = uint32(limit)
		}
		var response remote.SearchResponse
		if err := q.call("Browse/Search", request, &response, false); err != nil {
			return err
		}
		for _, row := range response.Keys {
			visit(row)
		}
		if len(response.Next) == 0 {
			return nil
		}
		limit -= len(response.Keys)
		request.Page = response.Next
	}
	return nil
}

func (q *remoteQueue) list(limit int) ([]QueuedKey, error) {
	var keys []QueuedKey
	err := q.search("KEY_STATE_QUEUED", "ADDED", limit, func(k remote.KeyRow) {
		keys = append(keys, QueuedKey{Key: string(k.Key), Lane: Lane(k.Lane), Group: string(k.Group)})
	})
	return keys, err
}

func (q *remoteQueue) quarantined() ([]QuarantinedKey, error) {
	var keys []QuarantinedKey
	err := q.search("KEY_STATE_QUARANTINED", "KEY", math.MaxInt, func(k remote.KeyRow) {
		keys = append(keys, QuarantinedKey{Key: string(k.Key), Failures: uint64(k.Failures),
			LastError: k.LastError, Quarantined: time.UnixMicro(k.QuarantinedAtUs)})
	})
	return keys, err
}

func (q *remoteQueue) isQuarantined(key string) (bool, error) {
	keys, err := q.quarantined()
	for _, k := range keys {
		if k.Key == key {
			return true, nil
		}
	}
	return false, err
}

func (q *remoteQueue) shutDown() error { return q.stop() }

func (q *remoteQueue) stop() error {
	q.worker.Stop()
	return nil
}

func (q *remoteQueue) drain(ctx context.Context) error {
	return fromRemote(q.worker.Drain(ctx))
}

func (q *remoteQueue) flush(durability Durability) error {
	q.worker.Flush()
	return q.client.Flush(durability)
}

func (q *remoteQueue) pause(duration time.Duration) error {
	request := remote.PauseRequest{Queue: q.name}
	if duration > 0 {
		us := remote.Microseconds(duration)
		request.ForUs = &us
	}
	return q.call("Admin/Pause", request, &remote.Empty{}, false)
}

func (q *remoteQueue) resume() error {
	return q.call("Admin/Resume", remote.QueueRequest{Queue: q.name}, &remote.Empty{}, false)
}

func (q *remoteQueue) counts() (Counts, error) {
	var c remote.QueueCounts
	q.worker.Flush()
	err := q.call("Queue/Counts", remote.QueueRequest{Queue: q.name}, &c, false)
	return Counts{
		Queued: int(c.Queued), Processing: int(c.Processing), Delayed: int(c.Delayed),
		Failing: int(c.Failing), Quarantined: int(c.Quarantined), Paused: c.Paused,
		Adds: uint64(c.Adds), Dones: uint64(c.Dones), Failures: uint64(c.Failures),
		Stuck: int(c.Stuck), Full: uint64(c.Full), HeldBack: int(c.HeldBack),
		Resyncs: int(c.Resyncs)}, err
}

func (q *remoteQueue) len() (int, error) {
	c, err := q.counts()
	return c.Queued, err
}

// unsupported is the error of a method that the service does not have.
func unsupported(what string) error {
	return newError(NotSupported, what+": a remote queue does not have it")
}

var errIfAbsent = unsupported("AddOptions.IfAbsent")

func (q *remoteQueue) positionOf(string) (int, error)      { return 0, unsupported("PositionOf") }
func (q *remoteQueue) setCursor(string, string) error      { return unsupported("SetCursor") }
func (q *remoteQueue) cursor(string) (string, error)       { return "", unsupported("Cursor") }
func (q *remoteQueue) eraseCursor(string) error            { return unsupported("EraseCursor") }
func (q *remoteQueue) cursors() (map[string]string, error) { return nil, unsupported("Cursors") }
func (q *remoteQueue) openSource(string) (sourceBackend, error) {
	return nil, unsupported("OpenSource")
}
func (q *remoteQueue) removeSource(string) error      { return unsupported("RemoveSource") }
func (q *remoteQueue) sources() ([]SourceInfo, error) { return nil, unsupported("Sources") }
func (q *remoteQueue) join() (workerBackend, error)   { return nil, unsupported("Join") }
