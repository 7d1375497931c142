package wq

// Tests of remote queues with faults of the server, of connections and of workers.

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"example.org/wq/internal/remote"
)

func TestAWorkerThatHoldsAnItemIsNotSilent(t *testing.T) {
	f, dir := onFake(t)
	client := dial(t, dir, ClientOptions{SilenceLimit: 30 * time.Millisecond})
	q, err := OpenQueue(client, "q", QueueOptions[string]{})
	must(t, err)
	q.Add("a")
	wantNext(t, q, "a")
	for i := 0; i < 3; i++ {
		within(t, f.beats)
	}
	q.Done("a")
}

func TestAnItemThatTheServerTookIsNotHandedOutBeforeDone(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	reported := q.Errors()
	q.Add("a")
	wantNext(t, q, "a")
	f.take("q", "a") // Queued again; no Get waits, so it is not assigned.
	wantCode(t, within(t, reported), NotProcessing)
	_, err := q.Token("a")
	wantCode(t, err, NotProcessing)
	q.Add("b")
	wantNext(t, q, "b") // "a" was assigned first, and waits.
	wantCode(t, q.Finish("a"), NotProcessing)
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
	must(t, q.Finish("b"))
	wantLen(t, q, 0)
}

func TestTheStartOfAnItemIsToldIfItHasALimit(t *testing.T) {
	f, dir := onFake(t)
	client := dial(t, dir, ClientOptions{KeyLimit: time.Hour})
	q, err := OpenQueue(client, "q", QueueOptions[string]{})
	must(t, err)
	q.Add("a")
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
	wantCalls(t, f, "Queue/Add a", "started a", "done a")
}

func TestARefusedAnswerIsReported(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	f.mu.Lock()
	f.results = func(r *remote.AnswerResult) {
		r.Error = &remote.MessageError{Code: "CODE_IO_ERROR", Message: "the disk"}
	}
	f.mu.Unlock()
	reported := q.Errors()
	q.Add("a")
	q.Add("b")
	wantNext(t, q, "a")
	q.Done("a")
	wantCode(t, within(t, reported), IOError)
	wantNext(t, q, "b")
	wantCode(t, q.Finish("b"), IOError)
}

// A Finish whose answer does not arrive returns when the connection breaks.
func TestAFinishEndsWithItsConnection(t *testing.T) {
	f, dir := onFake(t)
	p := newProxy(t, dir)
	q := openRemote(t, p.dir)
	q.Add("a")
	wantNext(t, q, "a")
	f.mu.Lock() // No Send is answered.
	finished := make(chan error)
	go func() { finished <- q.Finish("a") }()
	p.cut(false)
	err := within(t, finished)
	f.mu.Unlock()
	if !errors.Is(err, IOError) && !errors.Is(err, NotProcessing) {
		t.Fatal(err)
	}
}

// The server has ended the session, for example of a worker that was silent, and the connection has
// not broken.
func TestAWorkerWhoseSessionHasEndedConnectsAgain(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	q.Add("a")
	wantNext(t, q, "a")
	f.mu.Lock()
	f.sessions = map[string]*fakeSession{}
	f.mu.Unlock()
	wantCode(t, q.Finish("a"), IOError)
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
}

func TestADeletedQueueEndsItsRemoteGets(t *testing.T) {
	onServers(t, func(t *testing.T, p *proxy) {
		client := dial(t, p.dir, ClientOptions{})
		q, err := OpenQueue(client, "q", QueueOptions[string]{})
		must(t, err)
		ended := make(chan error)
		go func() {
			_, err := q.GetContext(context.Background())
			ended <- err
		}()
		q.Add("a")
		must(t, within(t, ended)) // The stream is open.
		go func() {
			_, err := q.GetContext(context.Background())
			ended <- err
		}()
		eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
		must(t, client.DeleteQueue("q"))
		wantCode(t, within(t, ended), NotFound)
	})
}

// The queue's deletion is not seen by its stream. The stream that follows does not make it again.
func TestAQueueDeletedInAnOutageEndsItsRemoteGets(t *testing.T) {
	onServers(t, func(t *testing.T, p *proxy) {
		q := openRemote(t, p.dir)
		ended := make(chan error)
		get := func() {
			_, err := q.GetContext(context.Background())
			ended <- err
		}
		go get()
		q.Add("a")
		must(t, within(t, ended)) // The stream is open.
		p.cut(true)
		go get()
		eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
		direct := dial(t, p.to, ClientOptions{})
		must(t, direct.DeleteQueue("q"))
		p.accepts()
		wantCode(t, within(t, ended), NotFound)
		names, err := direct.QueueNames()
		must(t, err)
		if len(names) != 0 {
			t.Fatalf("the queue was made again: %q", names)
		}
	})
}

func TestAClosedClientLeavesNoGoroutine(t *testing.T) {
	onServers(t, func(t *testing.T, p *proxy) {
		if testing.Short() {
			t.Skip("the number before may lack a goroutine that is just starting")
		}
		openRemote(t, p.dir).Add("a")
		before := runtime.NumGoroutine()
		for i := 0; i < 5; i++ {
			client := dial(t, p.dir, ClientOptions{})
			q, err := OpenQueue(client, "q", QueueOptions[string]{})
			must(t, err)
			wantNext(t, q, "a")
			must(t, client.Close())
		}
		// Also of the fake server and the proxy, for the connections.
		eventually(t, "they end", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// Connections break at random while many goroutines work. Nothing is lost, and no item is held
// twice.
func TestRemoteWorkersSurviveBrokenConnections(t *testing.T) {
	onServers(t, func(t *testing.T, p *proxy) {
		seed, err := strconv.ParseInt(os.Getenv("WQ_SEED"), 10, 64)
		if err != nil {
			seed = 1
		}
		t.Logf("WQ_SEED=%d", seed)
		random := rand.New(rand.NewSource(seed))
		const workers, items = 8, 300
		q := openRemote(t, p.dir)
		h := newHolders()
		done := h.work(t, q, workers)
		for i := 0; i < items; i++ {
			q.Add(fmt.Sprint(i))
			if random.Intn(10) == 0 {
				p.cut(false)
			}
		}
		eventually(t, "all were handed out", func() bool { return h.distinct() == items })
		eventually(t, "all are done", func() bool {
			counts, err := q.Counts()
			return err == nil && counts.Queued+counts.Processing == 0
		})
		q.ShutDown()
		done.Wait()
	})
}

// The capacity is the number of held items and of waiting Gets.
func TestTheCapacityIsThatOfTheGets(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	capacity := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.sessions {
			return s.capacity
		}
		return -1
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() {
			_, err := q.GetContext(ctx)
			ended <- err
		}()
	}
	eventually(t, "three Gets", func() bool { return capacity() == 3 })
	q.Add("a")
	must(t, within(t, ended))
	eventually(t, "two Gets and an item", func() bool { return capacity() == 3 })
	cancel()
	within(t, ended)
	within(t, ended)
	eventually(t, "an item", func() bool { return capacity() == 1 })
	q.Done("a")
	eventually(t, "nothing", func() bool { return capacity() == 0 })
}

// A key that was assigned when its Get had been cancelled goes to another worker.
func TestAKeyThatNoGetTakesIsGivenBack(t *testing.T) {
	f, dir := onFake(t)
	q, other := openRemote(t, dir), openRemote(t, dir)
	q.Add("first")
	wantNext(t, q, "first")
	f.mu.Lock()
	for _, s := range f.sessions {
		s.capacity = 2 // As if a Get were waiting.
	}
	f.mu.Unlock()
	q.Add("a")
	wantNext(t, other, "a")
	calls := f.log()
	for _, call := range calls {
		if call == "give back a" {
			return
		}
	}
	t.Fatalf("%q", calls)
}

func TestARefusedWorkersGetEnds(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	f.mu.Lock()
	f.bearer = "secret"
	f.mu.Unlock()
	wantShutDown(t, q)
	wantCode(t, q.Err(), Unauthenticated)
	q.Add("a") // No retry can help.
	wantCode(t, q.Err(), Unauthenticated)
}

// The store is replicated, and this server's process does not own it, or not yet.
func TestCallsAndWorkersOfAReplicaAreRepeated(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	refuse := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notOwner = 3
	}
	refuse()
	q.Add("a")
	wantCode(t, q.Err(), NotOwner)
	refuse()
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
	refuse()
	_, err := q.AddWith("b", AddOptions{}) // Returns its error, and so is not repeated.
	wantCode(t, err, NotOwner)
}

func TestADelayEndsAtItsInstantThoughTheAddIsRepeated(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	const repeated = 3
	f.mu.Lock()
	f.notOwner, f.delays = repeated, nil
	f.mu.Unlock()
	q.AddAfter("a", time.Hour)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.delays) != repeated+1 {
		t.Fatalf("%d requests", len(f.delays))
	}
	for i := 1; i < len(f.delays); i++ {
		if f.delays[i] >= f.delays[i-1] {
			t.Fatalf("the delays %v do not end at one instant", f.delays)
		}
	}
}

func TestADurabilityHasTheNameOfTheContract(t *testing.T) {
	for durability, want := range map[Durability]string{
		DefaultDurability: "", Async: "DURABILITY_ASYNC", Process: "DURABILITY_PROCESS",
		Power: "DURABILITY_POWER", Replicated: "DURABILITY_REPLICATED"} {
		if name := durabilityName(durability); name != want {
			t.Errorf("%d is %q", durability, name)
		}
	}
}

func TestTheEarlierOfTwoRemoteDelaysCounts(t *testing.T) {
	f, dir := onFake(t)
	q := openRemote(t, dir)
	q.Add("a")
	wantNext(t, q, "a")
	q.Forget("a")
	q.AddAfter("a", time.Hour)
	q.AddAfter("a", time.Millisecond)
	q.AddAfter("a", time.Hour)
	q.Done("a")
	wantNext(t, q, "a")
	wantCalls(t, f, "Queue/Add a", "requeue a")
}
