package e2e

// This file has the tests: a controller is killed, objects change while it is down, and it must go on
// with these, what was pending and the delays that come due, and with nothing else.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observed is how long a started controller is watched after its first lists.
const observed = time.Minute

func TestARestartReconcilesOnlyWhatChanged(t *testing.T) {
	w := newWorld(t)
	t.Run("killed", w.killed)
	t.Run("replicas", w.replicas)
	t.Run("the queue of controller-runtime", w.ownQueue)
}

// killed is a store on this machine, whose controller is killed at work.
func (w *world) killed(t *testing.T) {
	dir := t.TempDir()
	s := settings{Cluster: w.cluster, Store: filepath.Join(dir, "store"), Journal: filepath.Join(dir, "journal")}
	first := startController(t, s)
	first.settle(t, "all are reconciled")
	if missed := w.missed(first); len(missed) > 0 {
		t.Fatalf("not reconciled in the first run: %q", some(missed))
	}

	// Many keys at once, so that the kill finds some that are pending.
	hub := secret(hubSecret)
	hub.Labels = map[string]string{"version": "2"}
	mark := len(first.entries())
	must(t, w.api.Update(t.Context(), hub))
	eventually(t, "many keys are pending", func() bool {
		for _, e := range first.entries()[mark:] {
			if e.Event == busy && e.Busy >= 100 {
				return true
			}
		}
		return false
	})
	kill(first.command)
	before := dump(t, s.Store)
	wanted := w.change(t)
	second := startController(t, s)
	judged := second.judge(t, before, wanted)
	if judged.pending == 0 {
		t.Error("the kill found nothing pending")
	}
	t.Logf("%d widgets; %v", len(w.living), judged)
	kill(second.command)
	judged.compare(t, dump(t, s.Store))
	if missed := w.missed(first, second); len(missed) > 0 {
		t.Fatalf("not reconciled: %q", some(missed))
	}
}

// replicas is a replicated store: its owner is killed, and then one is ended.
func (w *world) replicas(t *testing.T) {
	dir := t.TempDir()
	of := func(name string) settings {
		return settings{Cluster: w.cluster, Store: filepath.Join(dir, name), Replica: name,
			Journal: filepath.Join(dir, name+".journal")}
	}
	a := startController(t, of("a"))
	a.settle(t, "all are reconciled")
	b := startController(t, of("b"))
	b.await(t, warm)
	a.settle(t, "what was to be done is done")

	kill(a.command)
	before := dump(t, a.settings.Store)
	mayBeBehind(before)
	wanted := w.change(t)
	judged := b.judge(t, before, wanted)
	t.Logf("the owner is killed: %v", judged)

	again := startController(t, of("a"))
	again.await(t, warm)
	b.settle(t, "what was to be done is done")
	must(t, b.command.Process.Signal(syscall.SIGTERM))
	_ = b.command.Wait()
	before = dump(t, b.settings.Store)
	judged.compare(t, before)
	judged = again.judge(t, before, w.change(t))
	t.Logf("the owner is ended: %v", judged)
	kill(again.command)
	judged.compare(t, dump(t, again.settings.Store))
	if missed := w.missed(a, b, again); len(missed) > 0 {
		t.Fatalf("not reconciled: %q", some(missed))
	}
}

// ownQueue is what controller-runtime does without a store.
func (w *world) ownQueue(t *testing.T) {
	c := startController(t, settings{
		Cluster: w.cluster, Journal: filepath.Join(t.TempDir(), "journal")})
	eventually(t, "all are reconciled", func() bool { return len(c.names()) >= len(w.living) })
	t.Logf("reconciled: %d of %d widgets", len(c.names()), len(w.living))
}

// --- The objects ---

const (
	secrets    = 200 // Each is read by readers widgets, and hubSecret by hubReaders.
	readers    = 5
	hubSecret  = "hub"
	hubReaders = 1000
)

// world has the objects of the cluster.
type world struct {
	cluster cluster
	api     client.Client
	objects int              // There were at first.
	plain   int              // The number of the next widget that nothing was done to.
	parents int              // The number of the next parent whose child was not deleted.
	secrets int              // The number of the next Secret that was not deleted.
	next    int              // The number of the next new widget.
	living  map[string]int64 // The generation of each widget.
}

func widgetName(n int) string { return fmt.Sprintf("w-%06d", n) }

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
}

func secretName(n int) string { return fmt.Sprintf("s-%03d", n) }

// widget returns the widget of this number. The first ones fail, are quarantined, are parents, and
// read Secrets; the others are plain.
func (w *world) widget(n int) *widget {
	o := &widget{ObjectMeta: metav1.ObjectMeta{Name: widgetName(n), Namespace: namespace}}
	o.Spec.Number = n
	left := n
	take := func(count int) bool {
		left -= count
		return left < 0
	}
	switch {
	case take(w.objects / 15):
		o.Spec.Kind = fails
	case take(50):
		o.Spec.Kind = quarantined
	case take(w.objects / 15):
		o.Spec.Kind = parent
	case take(secrets * readers):
		o.Spec.Secret = secretName(n % secrets)
	case take(hubReaders):
		o.Spec.Secret = hubSecret
	}
	return o
}

// newWorld makes the objects, as many as WQ_E2E_OBJECTS says.
func newWorld(t *testing.T) *world {
	if os.Getenv("WQ_E2E_PROGRAMS") == "" {
		t.Skip("WQ_E2E_PROGRAMS is not set: make e2e")
	}
	w := &world{objects: 75_000, living: map[string]int64{}}
	if text := os.Getenv("WQ_E2E_OBJECTS"); text != "" {
		var err error
		w.objects, err = strconv.Atoi(text)
		must(t, err)
	}
	w.parents, w.next = w.objects/15+50, w.objects
	w.plain = 2*(w.objects/15) + 50 + secrets*readers + hubReaders
	if w.plain+2*3*(500+100+10) > w.objects {
		t.Fatalf("WQ_E2E_OBJECTS is %d: too few", w.objects)
	}
	w.cluster = startCluster(t)
	var err error
	w.api, err = w.cluster.client()
	must(t, err)
	inParallel(t, secrets, func(ctx context.Context, n int) error {
		return w.api.Create(ctx, secret(secretName(n)))
	})
	must(t, w.api.Create(t.Context(), secret(hubSecret)))
	w.create(t, 0, w.objects)
	t.Logf("%d widgets", w.objects)
	return w
}

func (w *world) create(t *testing.T, first, count int) (names []string) {
	inParallel(t, count, func(ctx context.Context, n int) error {
		return w.api.Create(ctx, w.widget(first+n))
	})
	for n := range count {
		w.living[widgetName(first+n)] = 1
		names = append(names, widgetName(first+n))
	}
	return names
}

// change changes and deletes objects of all kinds, others than before, and returns the names of the
// widgets that must be reconciled for it.
func (w *world) change(t *testing.T) map[string]bool {
	t.Helper()
	wanted := map[string]bool{}
	want := func(names ...string) {
		for _, name := range names {
			wanted[name] = true
		}
	}
	const changed, deleted, recreated, children, gone = 500, 100, 10, 50, 20
	inParallel(t, changed, func(ctx context.Context, n int) error {
		patch := []byte(`{"spec":{"number":-1}}`)
		return w.api.Patch(ctx, w.widget(w.plain+n), client.RawPatch("application/merge-patch+json", patch))
	})
	for n := range changed {
		w.living[widgetName(w.plain+n)]++
		want(widgetName(w.plain + n))
	}
	w.plain += changed
	inParallel(t, deleted, func(ctx context.Context, n int) error {
		return w.api.Delete(ctx, w.widget(w.plain+n))
	})
	for n := range deleted {
		delete(w.living, widgetName(w.plain+n))
		want(widgetName(w.plain + n))
	}
	w.plain += deleted
	inParallel(t, recreated, func(ctx context.Context, n int) error {
		return w.api.Delete(ctx, w.widget(w.plain+n))
	})
	want(w.create(t, w.plain, recreated)...)
	w.plain += recreated
	want(w.create(t, w.next, 100)...)
	w.next += 100
	inParallel(t, children, func(ctx context.Context, n int) error {
		return w.api.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: widgetName(w.parents + n), Namespace: namespace}})
	})
	for n := range children {
		want(widgetName(w.parents + n))
	}
	w.parents += children
	inParallel(t, gone, func(ctx context.Context, n int) error {
		return w.api.Delete(ctx, secret(secretName(w.secrets+n)))
	})
	for n := range w.objects {
		if s := w.widget(n).Spec.Secret; secretName(w.secrets) <= s && s < secretName(w.secrets+gone) {
			want(widgetName(n))
		}
	}
	w.secrets += gone
	return wanted
}

// missed returns the living widgets whose generation none of the controllers has reconciled.
func (w *world) missed(by ...*process) map[string]bool {
	seen := map[string]int64{}
	for _, p := range by {
		for _, e := range p.entries() {
			if e.Event == reconciled {
				seen[e.Name] = max(seen[e.Name], e.Generation)
			}
		}
	}
	missed := map[string]bool{}
	for name, generation := range w.living {
		if seen[name] < generation {
			missed[name] = true
		}
	}
	return missed
}

// --- The processes ---

// process is a controller that was started.
type process struct {
	settings settings
	command  *exec.Cmd
	offset   int // Of its first byte in the journal.
}

func startController(t *testing.T, s settings) *process {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	p := &process{settings: s, command: exec.Command(program), offset: len(readJournal(s.Journal))}
	p.command.Env = append(os.Environ(), "WQ_E2E_CONTROLLER="+string(text))
	start(t, s.Journal+".log", p.command)
	return p
}

func readJournal(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	return text
}

// entries returns what the process has written.
func (p *process) entries() (entries []entry) {
	for line := range bytes.Lines(readJournal(p.settings.Journal)[p.offset:]) {
		var e entry
		if json.Unmarshal(line, &e) == nil { // Not the begin of a line.
			entries = append(entries, e)
		}
	}
	return entries
}

// await waits for the event, and returns when it was.
func (p *process) await(t *testing.T, event string) (at time.Time) {
	t.Helper()
	eventually(t, event, func() bool {
		for _, e := range p.entries() {
			if e.Event == event {
				at = e.At
				return true
			}
		}
		return false
	})
	return at
}

// settle waits until the lists have ended and there was nothing to be done for some seconds, but for
// what fails.
func (p *process) settle(t *testing.T, what string) {
	t.Helper()
	p.await(t, synced)
	eventually(t, what, func() bool {
		<-time.After(time.Second)
		entries := p.entries()
		for i := len(entries) - 1; i >= 0; i-- {
			if entries[i].Event == busy {
				return entries[i].Busy == 0
			}
		}
		return false
	})
}

// names returns the names of the widgets that were reconciled.
func (p *process) names() map[string]bool {
	names := map[string]bool{}
	for _, e := range p.entries() {
		if e.Event == reconciled {
			names[e.Name] = true
		}
	}
	return names
}

// --- The judgement ---

// state is that of a key in a store.
type state struct {
	State    string
	ReadyAt  time.Time `json:"ready_at"`
	Failures int
	behind   bool // See mayBeBehind.
}

// lastFailedAt is that of a delayed key that has failed.
func (s state) lastFailedAt() time.Time { return s.ReadyAt.Add(-backoff(s.Failures)) }

// dump returns the states of the keys of a store whose process has ended, by the widget's name.
func dump(t *testing.T, store string) map[string]state {
	t.Helper()
	output, err := exec.Command(os.Getenv("WQ_E2E_WQCTL"), "--store", store, "dump").Output()
	must(t, err)
	states := map[string]state{}
	for line := range bytes.Lines(output) {
		var e struct {
			Record, Key string
			state
		}
		must(t, json.Unmarshal(line, &e))
		if e.Record == "" {
			states[strings.TrimPrefix(e.Key, namespace+"/")] = e.state
		}
	}
	return states
}

// mayBeBehind marks the keys that failed in the last seconds of a killed owner, which does not wait
// for the replicated log: its successor may have them as they were before that failure.
func mayBeBehind(states map[string]state) {
	var last time.Time
	for _, s := range states {
		if s.Failures > 0 && s.lastFailedAt().After(last) {
			last = s.lastFailedAt()
		}
	}
	for name, s := range states {
		s.behind = s.Failures > 0 && s.lastFailedAt().After(last.Add(-10*time.Second))
		states[name] = s
	}
}

// backoff is the delay behind so many failures: that of setUp.
func backoff(failures int) time.Duration { return min(time.Second<<min(failures, 20), time.Hour) }

// judgement is what a controller has done in the minute after its lists.
type judgement struct {
	states                            map[string]state // As they must be now.
	changed, pending, due, lag, again int
}

func (j judgement) String() string {
	return fmt.Sprintf("reconciled within a minute: %d changed, %d pending, %d delays that came due, "+
		"%d whose last failure was not replicated; %d of them more than once; nothing else",
		j.changed, j.pending, j.due, j.lag, j.again)
}

// judge watches a controller that goes on with a store, and fails the test if it reconciles something
// else than what is wanted, was pending, or came due, or leaves out something of that.
func (p *process) judge(t *testing.T, before map[string]state, wanted map[string]bool) judgement {
	t.Helper()
	end := p.await(t, synced).Add(observed)
	<-time.After(time.Until(end))
	j := judgement{states: maps.Clone(before)}
	done, else_ := map[string]bool{}, map[string]bool{}
	for _, e := range p.entries() {
		if e.Event != reconciled || e.At.After(end) {
			continue
		}
		was, known := j.states[e.Name]
		due := known && was.State == "delayed" && !e.At.Before(was.ReadyAt)
		first := !done[e.Name]
		done[e.Name] = true
		switch {
		case due || known && was.State == "pending" && was.Failures > 0: // It fails again.
			if due {
				j.due++
			} else {
				j.pending++
			}
			was.Failures++
			j.states[e.Name] = state{
				State: "delayed", ReadyAt: e.At.Add(backoff(was.Failures)), Failures: was.Failures}
		case !first && (wanted[e.Name] || before[e.Name].State == "pending"):
			j.again++
		case wanted[e.Name]:
			j.changed++
		case known && was.State == "pending":
			j.pending++
			delete(j.states, e.Name)
		case known && was.behind: // The failure that it has already, once more.
			j.lag++
			j.states[e.Name] = state{
				State: "delayed", ReadyAt: e.At.Add(backoff(was.Failures)), Failures: was.Failures}
		default:
			else_[e.Name] = true
		}
	}
	missing := map[string]bool{}
	for name := range wanted {
		if !done[name] {
			missing[name] = true
		}
	}
	for name, was := range before {
		came := was.State == "delayed" && was.ReadyAt.Before(end.Add(-10*time.Second))
		if (was.State == "pending" || came) && !done[name] {
			missing[name] = true
		}
	}
	if len(else_)+len(missing) > 0 {
		t.Errorf("reconciled without a cause: %d, such as %q; not reconciled: %d, such as %q",
			len(else_), some(else_), len(missing), some(missing))
	}
	return j
}

// compare checks that the delays, failures and quarantines of what was not reconciled are as before,
// and the failures of what was are counted.
func (j judgement) compare(t *testing.T, after map[string]state) {
	t.Helper()
	differ := map[string]bool{}
	for name, want := range j.states {
		got := after[name]
		same := got.State == want.State && got.Failures == want.Failures
		if want.State == "delayed" {
			// One that has come due since, too.
			late := !want.ReadyAt.After(time.Now())
			same = late || same && got.ReadyAt.Sub(want.ReadyAt).Abs() < time.Second
		}
		if !same {
			differ[name] = true
		}
	}
	for name := range differ {
		t.Errorf("%d keys are not as they were, such as %s: %+v, want %+v",
			len(differ), name, after[name], j.states[name])
		break
	}
}

// some returns up to ten of the names.
func some(names map[string]bool) (some []string) {
	for name := range names {
		if some = append(some, name); len(some) == 10 {
			break
		}
	}
	return some
}
