package wq

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestARemoteItemHasTheCauseOfItsAdd(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	_, q := serveQueue(t)
	must(t, second(q.AddWith("a", AddOptions{Reason: "changed", TraceParent: trace})))
	wantNext(t, q, "a")
	wantCauses(t, q, "a", Cause{Reason: "changed", TraceParent: trace})
	must(t, q.Finish("a"))
	wantCode(t, second(q.Causes("a")), NotProcessing)
	must(t, q.Err())
}

func TestRemoteFailuresAreCountedUntilForget(t *testing.T) {
	_, q := serveQueue(t)
	q.Add("a")
	for failures := 0; failures < 3; failures++ {
		wantNext(t, q, "a")
		wantRequeues(t, q, "a", failures)
		q.AddRateLimited("a")
		wantRequeues(t, q, "a", failures+1)
		q.Done("a")
	}
	wantNext(t, q, "a")
	q.Forget("a")
	wantRequeues(t, q, "a", 0)
	q.Add("a")
	q.Done("a")
	wantNext(t, q, "a")
	wantRequeues(t, q, "a", 0)
	q.Done("a")
	must(t, q.Err())
}

// Forget first clears the failures that the server has, then the new one is counted.
func TestARemoteFailureAfterForgetIsTheFirst(t *testing.T) {
	_, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	q.AddRateLimited("a")
	q.Done("a")
	wantNext(t, q, "a")
	q.Forget("a")
	q.AddRateLimited("a")
	q.Done("a")
	wantNext(t, q, "a")
	wantRequeues(t, q, "a", 1)
	q.AddRateLimited("a")
	q.Forget("a") // Of the failures before the present one.
	q.Done("a")
	wantNext(t, q, "a")
	wantRequeues(t, q, "a", 1)
	must(t, q.Err())
}

func TestARemoteItemIsAddedAfterItsDelay(t *testing.T) {
	_, q := serveQueue(t)
	const delay = 50 * time.Millisecond
	start := time.Now()
	q.AddAfter("plain", delay)
	wantNext(t, q, "plain")
	if waited := time.Since(start); waited < delay {
		t.Fatalf("it came after %v", waited)
	}
	for name, before := range map[string]func(){
		"as controller-runtime": func() { q.Forget("plain") }, "without Forget": func() {}} {
		start = time.Now()
		before()
		q.AddAfter("plain", delay)
		q.Done("plain")
		wantNext(t, q, "plain")
		if waited := time.Since(start); waited < delay {
			t.Fatalf("%s: it came after %v", name, waited)
		}
	}
	q.Done("plain")
	must(t, q.Err())
}

// Failed and delayed: the delay must not be lost when the failure replaces it in the answer.
func TestARemoteItemThatFailsAfterADelayKeepsBoth(t *testing.T) {
	f, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	q.Forget("a")
	q.AddAfter("a", time.Hour)
	q.AddRateLimited("a")
	must(t, q.Finish("a"))
	wantCalls(t, f, "Queue/Add a", "Queue/Add a", "failed a:")
}

func TestARemoteAddReachesTheServerBeforeTheAnswer(t *testing.T) {
	f, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	q.Add("a")
	q.Done("a")
	wantNext(t, q, "a")
	wantCalls(t, f, "Queue/Add a", "Queue/Add a", "done a")
}

// Any number of goroutines: every item once, and never two holders of one item.
func TestEveryRemoteGetHoldsAnotherItem(t *testing.T) {
	f := serve(t, "")
	const workers, items = 20, 500
	q := openRemote(t, f.dir)
	holders := newHolders()
	done := holders.work(t, q, workers)
	all := make([]string, items)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	result, err := q.AddBatch(all, AddOptions{})
	must(t, err)
	if result.Added != items {
		t.Fatalf("%+v", result)
	}
	eventually(t, "all are done", func() bool { return holders.distinct() == items })
	q.ShutDownWithDrain()
	done.Wait()
	must(t, q.Err())
}

// client-go's TestForceQueueShutdown: a worker that never calls Done does not hang the process.
func TestShutDownEndsTheDrainOfARemoteQueue(t *testing.T) {
	f := serve(t, "")
	for name, end := range map[string]func(q *Queue[string]){
		"ShutDown": (*Queue[string]).ShutDown,
		"Stop":     func(q *Queue[string]) { must(t, q.Stop()) },
	} {
		q := openRemote(t, f.dir)
		q.Add(name)
		wantNext(t, q, name)
		drained := inBackground(func() { q.ShutDownWithDrain() })
		eventually(t, "it drains", q.ShuttingDown)
		wantRunning(t, drained, "it does not wait for the held item")
		end(q)
		within(t, drained)
		q.Done(name)
		q.ShutDownWithDrain() // Nothing is held any more.
		must(t, q.Err())
	}
}

func TestAHeldItemIsNotHandedOutAgainBeforeDoneWhenTheConnectionBreaks(t *testing.T) {
	f, q := serveQueue(t)
	q.Add("held")
	wantNext(t, q, "held")
	old, err := q.Token("held")
	must(t, err)
	f.cut(false)
	q.Add("next")
	wantNext(t, q, "next") // By the new connection, which has "held" assigned first.
	wantCode(t, second(q.Token("held")), NotProcessing)
	got := waiting(t, q)
	select {
	case item := <-got:
		t.Fatalf("got %q", item)
	default:
	}
	wantCode(t, q.Finish("held"), NotProcessing)
	wantFrom(t, got, "held")
	token, err := q.Token("held")
	must(t, err)
	if token <= old {
		t.Fatalf("the token %d comes after %d", token, old)
	}
	must(t, q.Finish("held"))
	must(t, q.Finish("next"))
	wantLen(t, q, 0)
	if !errors.Is(q.Err(), IOError) { // The outage was reported.
		t.Fatal(q.Err())
	}
}

func TestARemoteAddWaitsForTheServer(t *testing.T) {
	f, q := serveQueue(t)
	reported := q.Errors()
	f.cut(true)
	added := inBackground(func() { q.Add("a") })
	if err := within(t, reported); !errors.Is(err, IOError) {
		t.Fatal(err)
	}
	if _, err := q.AddWith("b", AddOptions{}); !errors.Is(err, IOError) {
		t.Fatal(err)
	}
	f.cut(false)
	within(t, added)
	wantNext(t, q, "a")
}

func TestAnAddThatWaitsForTheServerEndsAtShutDown(t *testing.T) {
	f, q := serveQueue(t)
	reported := q.Errors()
	f.cut(true)
	added := inBackground(func() { q.Add("a") })
	within(t, reported)
	q.ShutDown()
	within(t, added)
}

func TestRemoteShutDownEndsGetsAndKeepsHeldItems(t *testing.T) {
	f, q := serveQueue(t)
	q.Add("a")
	wantNext(t, q, "a")
	waits := make(chan bool)
	go func() {
		_, shutdown := q.Get()
		waits <- shutdown
	}()
	eventually(t, "it waits", func() bool { return q.backend.waitingGets() == 1 })
	drained := inBackground(func() { q.ShutDownWithDrain() })
	if !within(t, waits) {
		t.Fatal("Get returned an item")
	}
	if !q.ShuttingDown() {
		t.Fatal("it is not shutting down")
	}
	wantRunning(t, drained, "it has not waited for the held item")
	q.Add("refused")
	wantCode(t, q.Err(), ShuttingDown)
	q.AddRateLimited("a")
	q.Done("a")
	within(t, drained)
	wantShutDown(t, q)
	other := openRemote(t, f.dir)
	wantNext(t, other, "a")
	wantRequeues(t, other, "a", 1)
}

func TestACloseGivesHeldItemsBack(t *testing.T) {
	f := serve(t, "")
	q, other := openRemote(t, f.dir), openRemote(t, f.dir)
	q.Add("a")
	wantNext(t, q, "a")
	q.Add("b")
	must(t, q.Close())
	must(t, q.Close())
	wantNext(t, other, "a")
	wantNext(t, other, "b")
	wantCode(t, q.Finish("a"), NotProcessing)
	wantShutDown(t, q)
	q.Add("c")
	wantCode(t, q.Err(), ShuttingDown)
}

// A request of all keys would be larger than a server takes.
func TestALargeRemoteBatchIsSplit(t *testing.T) {
	_, q := serveQueue(t)
	const items = 2500
	all := make([]string, items)
	for i := range all {
		all[i] = fmt.Sprintf("%04d%s", i, strings.Repeat("x", 2000))
	}
	all[items-1] = ""
	result, err := q.AddBatch(all, AddOptions{})
	must(t, err)
	if result.Added != items-1 || len(result.Refused) != 1 ||
		result.Refused[0].Index != items-1 {
		t.Fatalf("%d added, refused: %v", result.Added, result.Refused)
	}
	wantLen(t, q, items-1)
}

func TestARemoteQueueMustExistIfAsked(t *testing.T) {
	f := serve(t, "")
	client := dial(t, f.dir, ClientOptions{})
	_, err := OpenQueue(client, "missing", QueueOptions[string]{MustExist: true})
	wantCode(t, err, NotFound)
	q, err := OpenQueue(client, "new", QueueOptions[string]{})
	must(t, err)
	must(t, q.Close())
	names, err := client.QueueNames()
	must(t, err)
	if !reflect.DeepEqual(names, []string{"new"}) {
		t.Fatalf("%q", names)
	}
	must(t, client.Health())
}

func TestAnOptionOfTheOwnerIsRefused(t *testing.T) {
	f := serve(t, "")
	client := dial(t, f.dir, ClientOptions{})
	o := reflect.TypeOf(QueueOptions[string]{})
	own := map[string]bool{
		"Codec": true, "GroupOf": true, "MustExist": true, "Durability": true, "StopOnShutDown": true}
	for i := 0; i < o.NumField(); i++ {
		var options QueueOptions[string]
		field := reflect.ValueOf(&options).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Struct:
			part := field.Field(0)
			part.Set(reflect.ValueOf(1).Convert(part.Type()))
		case reflect.Slice:
			options.Lanes = []Lane{1}
		case reflect.Interface:
			if o.Field(i).Name == "Limiter" {
				options.Limiter = fixedDelay[string](0)
			} else {
				options.Codec = stringCodec[string]{}
			}
		case reflect.Func:
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
				return []reflect.Value{reflect.ValueOf("group")} // Of GroupOf.
			}))
		default:
			field.Set(reflect.ValueOf(1).Convert(field.Type()))
		}
		name := o.Field(i).Name
		q, err := OpenQueue(client, "q"+name, options)
		switch {
		case own[name] && !options.MustExist:
			must(t, err)
			must(t, q.Close())
		case own[name]:
			wantCode(t, err, NotFound)
		default:
			wantCode(t, err, InvalidArgument)
			if !strings.Contains(err.Error(), "QueueOptions."+name) {
				t.Fatal(err)
			}
		}
	}
}

func TestARemoteControllersQueueHasThePrioritiesOfItsOwner(t *testing.T) {
	type opts struct {
		After       time.Duration
		RateLimited bool
		Priority    *int
	}
	f := serve(t, "[queue *]\norder = priorities\n")
	client := dial(t, f.dir, ClientOptions{})
	q := NewPriorityQueue[opts](client, "Pods of all nodes", QueueOptions[string]{})
	seven := 7
	q.AddWithOpts(opts{Priority: &seven}, "a", "b")
	item, priority, shutdown := q.GetWithPriority()
	if shutdown || item != "a" || priority != 7 {
		t.Fatal(item, priority, shutdown)
	}
	q.Forget(item)
	q.AddWithOpts(opts{After: time.Hour, Priority: &seven}, item)
	q.Done(item)
	item, _, _ = q.GetWithPriority()
	q.AddWithOpts(opts{RateLimited: true, Priority: &seven}, item)
	must(t, q.Finish(item))
	must(t, q.Err())
	wantCalls(t, f, "Queue/Add a,b", "requeue a", "failed b:")
}

func TestARemoteQueueReleasesLater(t *testing.T) {
	f, q := serveQueue(t)
	wantCode(t, q.ReleaseAfter("a", time.Hour), NotFound)
	wantCode(t, q.ReleaseAfter("a", -time.Hour), NotFound)
	wantCode(t, q.ReleaseAfter("a", 500*time.Nanosecond), NotFound)
	wantCalls(t, f, "Admin/Change RELEASE after 3600000000 a", "Admin/Change RELEASE a",
		"Admin/Change RELEASE after 1 a")
}

func TestARemoteQueueSaysWhatItDoesNotHave(t *testing.T) {
	_, q := serveQueue(t)
	wantCode(t, second(q.PositionOf("a")), NotSupported)
	wantCode(t, q.SetCursor("c", "1"), NotSupported)
	wantCode(t, second(q.Cursor("c")), NotSupported)
	wantCode(t, q.EraseCursor("c"), NotSupported)
	wantCode(t, second(q.Cursors()), NotSupported)
	wantCode(t, second(q.Join()), NotSupported)
	wantCode(t, second(q.AddWith("a", AddOptions{IfAbsent: true})), NotSupported)
	wantCode(t, second(q.AddBatch([]string{"a"}, AddOptions{IfAbsent: true})), NotSupported)
	wantCode(t, second(q.OpenSource("s")), NotSupported)
	wantCode(t, q.RemoveSource("s"), NotSupported)
	wantCode(t, second(q.Sources()), NotSupported)
}

// As in client-go: the event that it stands for must not be lost.
func TestAddRateLimitedOfARemoteItemThatIsNotHeldAddsIt(t *testing.T) {
	_, q := serveQueue(t)
	q.AddRateLimited("a")
	must(t, second(q.AddWith("b", AddOptions{RateLimited: true})))
	must(t, second(q.AddWith("c", AddOptions{RateLimited: true, After: time.Hour})))
	wantNext(t, q, "a")
	q.Done("a")
	wantCounts(t, q, "1 queued 1 delayed")
	counts, err := q.Counts()
	must(t, err)
	if counts.Failures != 0 {
		t.Fatalf("%+v", counts)
	}
	must(t, q.Stop())
	wantCode(t, second(q.AddWith("d", AddOptions{RateLimited: true})), ShuttingDown)
	must(t, q.Err())
}

func TestAStoresPathMayBeLongerThanASockets(t *testing.T) {
	base := socketDir(t)
	long := base + "/" + strings.Repeat("d", 120)
	must(t, os.Mkdir(long, 0o700))
	f := serve(t, "")
	must(t, os.Rename(f.dir+"/control.sock", long+"/control.sock"))
	q := openRemote(t, long)
	q.Add("a")
	wantNext(t, q, "a")
	must(t, q.Err())
	wantCode(t, second(Dial("unix:"+long+"/control.sock", ClientOptions{})), InvalidArgument)
}

func TestDialTakesASocketAnAddressAndAToken(t *testing.T) {
	f := serve(t, "")
	must(t, dial(t, "unix:"+f.dir+"/control.sock", ClientOptions{}).Health())
	wantCode(t, second(Dial("", ClientOptions{})), InvalidArgument)
	wantCode(t, second(Dial(f.dir, ClientOptions{Timeout: -1})), InvalidArgument)
	f.set(func() { f.token = "secret" })
	wantCode(t, dial(t, f.dir, ClientOptions{Token: "wrong"}).Health(), Unauthenticated)
	must(t, dial(t, f.dir, ClientOptions{Token: "secret"}).Health())
	wantCode(t, dial(t, t.TempDir(), ClientOptions{}).Health(), IOError)
	wantCode(t, dial(t, "127.0.0.1:1", ClientOptions{}).Health(), IOError)
}
