package wq

// This file has the connection to a server, and the queues of its store.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"example.org/wq/internal/remote"
)

// ClientOptions are the options of Dial.
type ClientOptions struct {
	Token string // Required by a server on HOST:PORT that has a token file.
	// Name is the worker's name in `wqctl workers`, at most 256 bytes. "": the program's name and
	// process id.
	Name string
	// SilenceLimit is how long the server waits for a message of a worker that holds items before it
	// takes them away; the Client sends one at a third of it. 0: the server's default, 30 s. At
	// least 1 s.
	SilenceLimit time.Duration
	// KeyLimit is how long an item may be held from its Get on. The server then takes it away and
	// counts a failure.
	// 0: no limit.
	KeyLimit time.Duration
	Timeout  time.Duration // Of one call; 0: 30 s.
	RetryMin time.Duration // The mean wait before the first attempt to reconnect; 0: 100 ms.
	RetryMax time.Duration // The longest mean wait between attempts; 0: 10 s.
	Logger   Logger        // Logs failures that no call returns. Nil: they are not logged.
}

const (
	defaultTimeout  = 30 * time.Second
	defaultRetryMin = 100 * time.Millisecond
	defaultRetryMax = 10 * time.Second
)

// Client is a connection to the server of a store that another process owns: `wqctl serve`, or a
// program that has a server of wq. OpenQueue and NewPriorityQueue take it like a Store. It needs no
// cgo.
//
//	client, err := wq.Dial("/var/lib/controller/wq", wq.ClientOptions{})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	pods, err := wq.OpenQueue(client, "pods", wq.QueueOptions[string]{})
//
// A broken connection is made again. The server then has given the items that were held to other
// workers; Done of such an item has no effect, and Err reports it. This process gets the item again
// only after that Done: it is never held twice here. A worker that writes elsewhere has Queue.Token
// against a former worker that is still running.
type Client struct {
	remote  *remote.Client
	options ClientOptions

	mu     sync.Mutex
	queues map[*remoteQueue]bool // The set of open queues.
	closed bool
}

// Dial makes a Client of the server at the target: the directory of a store, "unix:PATH" of a
// socket, or "HOST:PORT". It does not connect, so that a server may be started later; Health does.
// InvalidArgument: an invalid target or option.
//
// A connection to HOST:PORT is not encrypted: TLS is not offered to a Client. Use it on a loopback
// address or through a tunnel, since the token and the items are sent in clear text.
func Dial(target string, options ClientOptions) (*Client, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		unset time.Duration
	}{
		{"SilenceLimit", &options.SilenceLimit, 0}, {"KeyLimit", &options.KeyLimit, 0},
		{"Timeout", &options.Timeout, defaultTimeout},
		{"RetryMin", &options.RetryMin, defaultRetryMin},
		{"RetryMax", &options.RetryMax, defaultRetryMax},
	} {
		if *d.value < 0 {
			return nil, newError(InvalidArgument, d.name+" is out of range")
		}
		if *d.value == 0 {
			*d.value = d.unset
		}
	}
	if options.Name == "" {
		options.Name = fmt.Sprintf("%s[%d]", filepath.Base(os.Args[0]), os.Getpid())
	}
	client, err := remote.NewClient(target, remote.Options{Token: options.Token,
		Timeout: options.Timeout, RetryMin: options.RetryMin, RetryMax: options.RetryMax})
	if err != nil {
		return nil, fromRemote(err)
	}
	return &Client{remote: client, options: options, queues: map[*remoteQueue]bool{}}, nil
}

// remoteCodes has the codes that a server names.
var remoteCodes = func() map[string]Code {
	codes := map[string]Code{}
	for code, name := range codeNames {
		codes[name] = code
	}
	return codes
}()

// fromRemote converts an error of package remote.
func fromRemote(err error) error {
	var e *remote.Error
	if !errors.As(err, &e) {
		return err // Of a context, or nil.
	}
	code, known := remoteCodes[e.Code]
	if !known {
		return newError(Internal, e.Code+": "+e.Message)
	}
	return newError(code, e.Message)
}

// Close closes all queues as Queue.Close does. Idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	queues := c.queues
	c.queues = map[*remoteQueue]bool{}
	c.mu.Unlock()
	for q := range queues {
		q.end()
	}
	c.remote.Close()
	return nil
}

// call makes one call.
func (c *Client) call(method string, request, response any) error {
	return fromRemote(c.remote.Call(context.Background(), method, request, response))
}

// Health returns nil if the server answers and what it acknowledges is durable; NotDurable with the
// failure of its store; IOError if it cannot be reached. As a readiness check: see Store.Health.
func (c *Client) Health() error {
	store, err := c.store()
	if err != nil {
		return err
	}
	return fromRemote(store.Health.Err())
}

func (c *Client) store() (store remote.GetStoreResponse, err error) {
	err = c.call("Admin/GetStore", remote.Empty{}, &store)
	return store, err
}

// UUID returns the UUID of the server's store.
func (c *Client) UUID() (string, error) {
	store, err := c.store()
	return store.UUID, err
}

// QueueNames returns the names of all queues of the server's store, sorted.
func (c *Client) QueueNames() ([]string, error) {
	store, err := c.store()
	var names []string
	for _, q := range store.Queues {
		names = append(names, q.Name)
	}
	return names, err
}

// DeleteQueue deletes a queue with all that it has. The server closes it first; its workers'
// connections end. NotFound: it does not exist.
func (c *Client) DeleteQueue(name string) error {
	return c.call("Admin/DeleteQueue", remote.QueueRequest{Queue: name}, &remote.Empty{})
}

// Flush makes everything that was done on the server's store before as durable as asked for.
func (c *Client) Flush(durability Durability) error {
	return c.call("Admin/Flush",
		remote.FlushRequest{Durability: durabilityName(durability)}, &remote.Empty{})
}

func (c *Client) failureLogger() Logger { return c.options.Logger }

// durabilityName returns the name of the enum Durability; "" for the default.
func durabilityName(d Durability) string {
	return map[Durability]string{Async: "DURABILITY_ASYNC", Process: "DURABILITY_PROCESS",
		Power: "DURABILITY_POWER", Replicated: "DURABILITY_REPLICATED"}[d]
}

// callersOptions are those that a remote queue takes; its owner sets the others.
var callersOptions = map[string]bool{"MustExist": true, "Durability": true, "StopOnShutDown": true}

// ownersOption returns the name of an option that is set and belongs to the queue's owner; "": none
// is.
func ownersOption(request openRequest) string {
	if request.hasLimiter {
		return "Limiter"
	}
	options := reflect.ValueOf(request.options)
	for i := 0; i < options.NumField(); i++ {
		name := options.Type().Field(i).Name
		if !callersOptions[name] && !options.Field(i).IsZero() {
			return name
		}
	}
	return ""
}

func (c *Client) openQueue(name string, request openRequest) (backend, error) {
	if request.controllers { // The owner decides them.
		request.options.Order, request.options.ReAddRaisesLane = FIFO, false
		request.options.MergeDelays = false
	}
	if option := ownersOption(request); option != "" {
		return nil, newError(InvalidArgument, fmt.Sprintf(
			"the queue %q is remote: its owner sets QueueOptions.%s", name, option))
	}
	counts := remote.QueueRequest{Queue: name}
	err := c.call("Queue/Counts", counts, &remote.QueueCounts{})
	if codeOf(err) == NotFound && !request.options.MustExist {
		create := remote.AddRequest{Queue: name, Create: true}
		err = c.call("Queue/Add", create, &remote.AddResponse{})
	}
	if err != nil {
		return nil, err
	}
	q := newRemoteQueue(c, name, request)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		q.end()
		return nil, newError(ShuttingDown, "the client is closed")
	}
	c.queues[q] = true
	return q, nil
}
