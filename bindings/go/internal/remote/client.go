// Package remote speaks with a server of wq over HTTP with JSON messages, by key. It uses the
// standard library only.
//
// Threading: every method may be called by any goroutine.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Error is the error of a call.
type Error struct {
	Code    string // As the server names it: "NotFound".
	Message string
	// The server was not reached, or its answer did not arrive: whether the call took effect is
	// unknown.
	Broken bool
	// Of a call that the server has applied in memory only.
	Response json.RawMessage
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

const (
	codeInvalidArgument = "InvalidArgument"
	codeUnauthenticated = "Unauthenticated"
	codeNotFound        = "NotFound"
	codeNotProcessing   = "NotProcessing"
	codeShuttingDown    = "ShuttingDown"
	codeTimedOut        = "TimedOut"
	codeIOError         = "IOError"
	codeNotSupported    = "NotSupported"
	codeNotOwner        = "NotOwner"
)

// Err converts a message; nil if it is no error. Its code may be "CODE_NOT_FOUND", as in a
// message, or "NotFound", as in the body of a failed call.
func (m *MessageError) Err() error {
	if m == nil || m.Code == "" || m.Code == "CODE_OK" {
		return nil
	}
	code := m.Code
	if strings.HasPrefix(code, "CODE_") {
		code = ""
		for _, word := range strings.Split(m.Code[len("CODE_"):], "_") {
			if word == "IO" {
				code += word
			} else {
				code += word[:1] + strings.ToLower(word[1:])
			}
		}
	}
	return &Error{Code: code, Message: m.Message}
}

// Retryable reports whether the call may succeed later without another change: the server was not
// reached, is being stopped or started, or does not own the store at present.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Broken || e.Code == codeShuttingDown ||
		e.Code == codeTimedOut || e.Code == codeNotOwner)
}

// Options are the options of a Client.
type Options struct {
	Token    string
	Timeout  time.Duration // Of a call, and of the opening of a stream.
	RetryMin time.Duration // The mean wait before the first attempt to reconnect.
	RetryMax time.Duration // The longest mean wait.
}

// Client makes calls to one server.
type Client struct {
	target  string
	host    string // For the Host header, which a server checks on loopback.
	options Options
	http    *http.Client
}

// socketName is the name of the server's socket in a store's directory.
const socketName = "control.sock"

// maxSocketPath is the longest path that fits into a sockaddr_un.
const maxSocketPath = 107

// NewClient does not connect. target: the directory of a store, "unix:PATH", or "HOST:PORT".
func NewClient(target string, options Options) (*Client, error) {
	dial, host, err := dialerOf(target)
	if err != nil {
		return nil, err
	}
	return &Client{target: target, host: host, options: options, http: &http.Client{
		Transport: &http.Transport{
			DialContext: dial, MaxIdleConns: 16, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: time.Minute, DisableCompression: true},
		// A redirect would send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func dialerOf(target string) (dial dialer, host string, err error) {
	if target == "" {
		return nil, "", &Error{Code: codeInvalidArgument, Message: "the target is empty"}
	}
	if path := strings.TrimPrefix(target, "unix:"); path != target {
		if len(path) > maxSocketPath {
			return nil, "", &Error{Code: codeInvalidArgument, Message: fmt.Sprintf(
				"the path %q is longer than the %d bytes of a socket's; name the store's directory",
				path, maxSocketPath)}
		}
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}, "localhost", nil
	}
	if _, _, err := net.SplitHostPort(target); err == nil && !strings.Contains(target, "/") {
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", target)
		}, target, nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialStore(ctx, target)
	}, "localhost", nil
}

// dialStore connects to the socket in a store's directory, whose path may be longer than a
// socket's.
func dialStore(ctx context.Context, dir string) (net.Conn, error) {
	d := new(net.Dialer)
	path := strings.TrimRight(dir, "/") + "/" + socketName
	if len(path) <= maxSocketPath {
		return d.DialContext(ctx, "unix", path)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socketName))
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a call, for example of "Queue/Add". A call that is not once may be repeated if a
// connection breaks.
func (c *Client) Call(ctx context.Context, method string, request, response any) error {
	return c.call(ctx, method, request, response, false)
}

func (c *Client) call(
	ctx context.Context, method string, request, response any, once bool) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	answer, err := c.post(ctx, method, request, once)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Response != nil {
			json.Unmarshal(e.Response, response) // Otherwise its numbers are not known.
		}
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(response); err != nil {
		return c.broken(fmt.Errorf("the answer of %s: %w", method, err))
	}
	io.Copy(io.Discard, answer.Body) // So that the connection is used again.
	return nil
}

// post returns a successful answer.
func (c *Client) post(
	ctx context.Context, method string, request any, once bool) (*http.Response, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, &Error{Code: codeInvalidArgument, Message: err.Error()}
	}
	r, err := http.NewRequestWithContext(
		ctx, http.MethodPost, "http://"+c.host+"/wq.v1."+method, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: codeInvalidArgument, Message: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	if c.options.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	if !once {
		// Net/http repeats the request if the server has closed the kept connection. Not sent.
		r.Header["X-Idempotency-Key"] = nil
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.broken(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, c.refusal(method, answer)
}

// broken makes the error of a connection that has failed.
func (c *Client) broken(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Code: codeIOError, Broken: true, Message: e.Message}
	}
	return &Error{Code: codeIOError, Broken: true,
		Message: fmt.Sprintf("the server at %q: %v", c.target, err)}
}

// maxErrorBody bounds the body of a failed call.
const maxErrorBody = 1 << 20

// refusal makes the error of an answer that is not a success.
func (c *Client) refusal(method string, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
	var m struct {
		MessageError
		Response json.RawMessage `json:"response"` // Of what was applied in memory only.
	}
	if json.Unmarshal(text, &m) == nil && m.Code != "" {
		err := m.Err()
		if e, ok := err.(*Error); ok {
			e.Response = m.Response
		}
		return err
	}
	e := &Error{Message: fmt.Sprintf("%s at %q: HTTP %s", method, c.target, answer.Status)}
	if m.Message != "" {
		e.Message += ": " + m.Message
	}
	switch code := answer.StatusCode; {
	case code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests ||
		code == http.StatusBadGateway || code == http.StatusGatewayTimeout: // Of a proxy.
		e.Code, e.Broken = codeIOError, true
	case code == http.StatusNotFound || code == http.StatusNotImplemented:
		e.Code = codeNotSupported // No server of wq, or one without this call.
	case code == http.StatusUnauthorized:
		e.Code = codeUnauthenticated // Of a proxy: a server of wq says its code itself.
	case code >= 400 && code < 500:
		e.Code = codeInvalidArgument
	default:
		e.Code = codeIOError
	}
	return e
}

// Retry is the waits of one outage: they double, with jitter.
type Retry struct {
	options *Options
	next    time.Duration
}

// NewRetry returns the waits of an outage that begins.
func (c *Client) NewRetry() Retry { return Retry{options: &c.options} }

// Wait returns false if the channel was closed first.
func (r *Retry) Wait(end <-chan struct{}) bool {
	if r.next < r.options.RetryMin {
		r.next = r.options.RetryMin
	}
	timer := time.NewTimer(r.next/2 + time.Duration(rand.Int63n(int64(r.next)+1)))
	defer timer.Stop()
	if r.next *= 2; r.next > r.options.RetryMax {
		r.next = r.options.RetryMax
	}
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}
