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
	"strings"
	"testing"
	"time"

	"example.org/wq/internal/remote"
)

func TestAWorkerThatHoldsAnItemIsNotSilent(t *testing.T) {
	f := serve(t, "")
	client := dial(t, f.dir, ClientOptions{SilenceLimit: time.Second})
	q := openQueue(t, client, QueueOptions[string]{})
	q.Add("a")
	wantNext(t, q, "a")
	for i := 0; i < 3; i++ {
		within(t, f.beats)
	}
	must(t, q.Finish("a"))
}

func TestAnItemThatTheServerTookIsNotHandedOutBeforeDone(t *testing.T) {
	f := serve(t, "")
	q := openQueue(t, dial(t, f.dir, ClientOptions{KeyLimit: 10 * time.Millisecond}),
		QueueOptions[string]{})
	reported := q.Errors()
	q.Add("a")
	wantNext(t, q, "a")
	wantCode(t, within(t, reported), NotProcessing)
	wantCode(t, second(q.Token("a")), NotProcessing)
	got := make(chan string, 1)
	go func() { got <- take(t, q) }()
	eventually(t, "it is assigned again", func() (again bool) {
		f.set(func() { again = len(f.assigned) > 1 })
		return again
	})
	if len(got) > 0 {
		t.Fatal("it is held twice")
	}
	wantCode(t, q.Finish("a"), NotProcessing)
	wantFrom(t, got, "a")
}

func TestTheStartOfAnItemIsToldIfItHasALimit(t *testing.T) {
	f := serve(t, "")
	q := openQueue(t, dial(t, f.dir, ClientOptions{KeyLimit: time.Hour}), QueueOptions[string]{})
	q.Add("a")
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
	wantCalls(t, f, "Queue/Add a", "started a", "done a")
}

func TestARefusedAnswerIsReported(t *testing.T) {
	f, q := serveQueue(t)
	f.set(func() {
		f.results = func(r *remote.AnswerResult) {
			r.Error = &remote.MessageError{Code: "CODE_IO_ERROR", Message: "the disk"}
		}
	})
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
	f, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	goOn := make(chan struct{})
	defer close(goOn)
	f.set(func() {
		f.fail = func(method string) string {
			if method == "Work/Send" { // It is not answered.
				<-goOn
			}
			return ""
		}
	})
	finished := make(chan error)
	go func() { finished <- q.Finish("a") }()
	f.cut(false)
	if err := within(t, finished); !errors.Is(err, IOError) && !errors.Is(err, NotProcessing) {
		t.Fatal(err)
	}
}

// The server has ended the session, for example of a worker that was silent, and the connection has
// not broken.
func TestAWorkerWhoseSessionHasEndedConnectsAgain(t *testing.T) {
	f, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	f.failNext(1, "Work/Send", "NotFound")
	wantCode(t, q.Finish("a"), IOError)
	wantNext(t, q, "a")
	must(t, q.Finish("a"))
}

func TestADeletedQueueEndsItsRemoteGets(t *testing.T) {
	f := serve(t, "")
	client := dial(t, f.dir, ClientOptions{})
	q := openQueue(t, client, QueueOptions[string]{})
	ended := make(chan error)
	go func() { ended <- second(q.GetContext(context.Background())) }()
	q.Add("a")
	must(t, within(t, ended)) // The stream is open.
	go func() { ended <- second(q.GetContext(context.Background())) }()
	eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
	must(t, client.DeleteQueue("q"))
	wantCode(t, within(t, ended), NotFound)
}

// The queue's deletion is not seen by its stream. The stream that follows does not make it again.
func TestAQueueDeletedInAnOutageEndsItsRemoteGets(t *testing.T) {
	f, q := serveQueue(t)
	ended := make(chan error)
	get := func() { ended <- second(q.GetContext(context.Background())) }
	go get()
	q.Add("a")
	must(t, within(t, ended)) // The stream is open.
	f.cut(true)
	go get()
	eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
	direct := dial(t, f.to, ClientOptions{})
	must(t, direct.DeleteQueue("q"))
	f.cut(false)
	wantCode(t, within(t, ended), NotFound)
	names, err := direct.QueueNames()
	must(t, err)
	if len(names) != 0 {
		t.Fatalf("the queue was made again: %q", names)
	}
}

func TestAClosedClientLeavesNoGoroutine(t *testing.T) {
	f := serve(t, "")
	if testing.Short() {
		t.Skip("the number before may lack a goroutine that is just starting")
	}
	openRemote(t, f.dir).Add("a")
	before := runtime.NumGoroutine()
	for i := 0; i < 5; i++ {
		client := dial(t, f.dir, ClientOptions{})
		q := openQueue(t, client, QueueOptions[string]{})
		wantNext(t, q, "a")
		must(t, client.Close())
	}
	// Also of the front, for the connections.
	eventually(t, "they end", func() bool { return runtime.NumGoroutine() <= before })
}

// Connections break at random while many goroutines work. Nothing is lost, and no item is held
// twice.
func TestRemoteWorkersSurviveBrokenConnections(t *testing.T) {
	f := serve(t, "")
	seed, err := strconv.ParseInt(os.Getenv("WQ_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	t.Logf("WQ_SEED=%d", seed)
	random := rand.New(rand.NewSource(seed))
	const workers, items = 8, 300
	q := openRemote(t, f.dir)
	h := newHolders()
	done := h.work(t, q, workers)
	for i := 0; i < items; i++ {
		q.Add(fmt.Sprint(i))
		if random.Intn(10) == 0 {
			f.cut(false)
		}
	}
	eventually(t, "all were handed out", func() bool { return h.distinct() == items })
	eventually(t, "all are done", func() bool {
		counts, err := q.Counts()
		return err == nil && counts.Queued+counts.Processing == 0
	})
	q.ShutDown()
	done.Wait()
}

// The capacity is the number of held items and of waiting Gets.
func TestTheCapacityIsThatOfTheGets(t *testing.T) {
	f, q := serveQueue(t)
	capacity := func() (n uint32) {
		f.set(func() { n = f.capacity })
		return n
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() { ended <- second(q.GetContext(ctx)) }()
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
	f := serve(t, "")
	q, other := openRemote(t, f.dir), openRemote(t, f.dir)
	q.Add("first")
	wantNext(t, q, "first")
	direct, err := remote.NewClient(f.to, remote.Options{Timeout: patience})
	must(t, err)
	two := uint32(2) // As if a Get were waiting.
	more := remote.SendRequest{Request: remote.WorkRequest{Capacity: &two}}
	f.set(func() { more.Session = f.session })
	must(t, direct.Call(context.Background(), "Work/Send", more, &remote.Empty{}))
	q.Add("a")
	eventually(t, "it is assigned to q", func() (is bool) { // Before other is there.
		f.set(func() {
			for _, key := range f.assigned {
				is = is || key == "a"
			}
		})
		return is
	})
	wantNext(t, other, "a")
	wantCalls(t, f, "Queue/Add first", "Queue/Add a", "give back a")
}

func TestARefusedWorkersGetEnds(t *testing.T) {
	f, q := serveQueue(t)
	f.set(func() { f.token = "secret" })
	wantShutDown(t, q)
	wantCode(t, q.Err(), Unauthenticated)
	q.Add("a") // No retry can help.
	wantCode(t, q.Err(), Unauthenticated)
}

// The store is replicated, and this server's process does not own it, or not yet; or a proxy has no
// server behind it.
func TestCallsAndWorkersOfAReplicaAreRepeated(t *testing.T) {
	for name, code := range map[string]Code{"NotOwner": NotOwner, badGateway: IOError} {
		f, q := serveQueue(t)
		f.failNext(3, "", name)
		q.Add("a")
		wantCode(t, q.Err(), code)
		f.failNext(3, "", name)
		wantNext(t, q, "a")
		must(t, q.Finish("a"))
		f.failNext(3, "", name)
		_, err := q.AddWith("b", AddOptions{}) // Returns its error, and so is not repeated.
		wantCode(t, err, code)
	}
}

func TestAFailedStoreOfAServerSaysWhatItHasAdded(t *testing.T) {
	f, q := serveQueue(t)
	f.failNext(100, "Queue/Add", notDurable)
	wantCode(t, second(q.AddWith("a", AddOptions{})), NotDurable)
	outcome, err := q.AddWith("a", AddOptions{})
	wantCode(t, err, NotDurable)
	long := strings.Repeat("x", 5000)
	_, refused := q.AddWith(long, AddOptions{})
	wantCode(t, refused, InvalidArgument)
	if outcome != Deduplicated {
		t.Fatal(outcome)
	}
	result, err := q.AddBatch([]string{"a", "b", long}, AddOptions{})
	if result.Added != 1 || result.Deduplicated != 1 || len(result.Refused) != 1 {
		t.Fatalf("%+v", result)
	}
	wantCode(t, err, NotDurable)
	q.Add(long)
	wantCode(t, q.Err(), InvalidArgument)
}

func TestADelayEndsAtItsInstantThoughTheAddIsRepeated(t *testing.T) {
	f, q := serveQueue(t)
	const repeated = 3
	f.failNext(repeated, "", "NotOwner")
	f.set(func() { f.delays = nil })
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

func TestTheEarlierOfTwoRemoteDelaysCounts(t *testing.T) {
	f, q := serveQueue(t)
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
