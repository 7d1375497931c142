package wq

// This file has the errors of the package, and records and logs those that no call returns.

import (
	"errors"
	"sync"
	"unicode/utf8"
)

// Code is the kind of an error: errors.Is(err, wq.NotFound). The numbers are those of wq/status.h
// and never change meaning.
type Code int32

const (
	InvalidArgument Code = 1  // Can never work: an empty key, a bad option.
	NotFound        Code = 2  // The store, queue, key or cursor does not exist.
	AlreadyExists   Code = 3  // To be created, but exists; a queue already open.
	NotProcessing   Code = 4  // Done of a key that no worker holds.
	ShuttingDown    Code = 5  // The queue is shutting down, or its store is closed.
	TimedOut        Code = 6  // Nothing changed.
	Locked          Code = 7  // Another process owns the store.
	Corruption      Code = 8  // The store's bytes are damaged.
	NotDurable      Code = 9  // Applied in memory; a write failed: Store.Health.
	IOError         Code = 10 // A system call failed. Nothing was applied.
	NotSupported    Code = 11 // The store has another format version.
	NotOwner        Code = 12 // A replicated store: this process does not own it, or not any more.
	Full            Code = 13 // The queue has MaxPending items. Nothing changed.
	Unauthenticated Code = 14 // A server refuses the token, or requires one. Nothing changed.
	Forked          Code = 65 // The process is a fork of the library's process.
	NoMemory        Code = 66 // How far the call was applied is unknown.
	Internal        Code = 67 // A bug.
)

var codeNames = map[Code]string{
	0: "Ok", InvalidArgument: "InvalidArgument", NotFound: "NotFound", AlreadyExists: "AlreadyExists",
	NotProcessing: "NotProcessing", ShuttingDown: "ShuttingDown", TimedOut: "TimedOut",
	Locked: "Locked", Corruption: "Corruption", NotDurable: "NotDurable", IOError: "IOError",
	NotSupported: "NotSupported", NotOwner: "NotOwner", Full: "Full",
	Unauthenticated: "Unauthenticated", Forked: "Forked", NoMemory: "NoMemory",
	Internal: "Internal"}

// Error returns the code's name as the other interfaces show it: "NotFound".
func (c Code) Error() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "Unknown"
}

// Error is the error of a call of this package. It unwraps to its Code.
type Error struct {
	Code    Code
	Message string // For humans: one line, keys in it escaped.
}

func (e *Error) Error() string { return "wq: " + e.Code.Error() + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Code }

func newError(code Code, message string) error { return &Error{Code: code, Message: message} }

// codeOf returns the code of an error; 0 for an error of another package.
func codeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// textOf returns the text of an error; "" for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return bounded(err.Error())
}

// maxErrorBytes is what a queue keeps of the text of an error.
const maxErrorBytes = 1024

// bounded cuts the text of an error, so that the answers of one message are never too long for it.
func bounded(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	end := maxErrorBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func closedError() error { return newError(ShuttingDown, "the store is closed") }

var errQueueClosed = newError(ShuttingDown, "the queue is closed")

// failures keeps the errors of calls that do not return them. Thread-safe.
type failures struct {
	log     func(err error) // Constant after OpenQueue; may be nil.
	mu      sync.Mutex
	last    error
	channel chan error // Made by the first call of errors.
}

// failuresKept is how many errors wait for a reader of the channel.
const failuresKept = 64

func (f *failures) report(err error) {
	if err == nil {
		return
	}
	if f.log != nil {
		f.log(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = err
	select {
	case f.channel <- err: // A nil channel never receives.
	default:
	}
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *failures) errors() <-chan error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.channel == nil {
		f.channel = make(chan error, failuresKept)
	}
	return f.channel
}

// Logger is the part of logr.Logger that the package calls, so a logr.Logger is one:
//
//	wq.StoreOptions{Logger: mgr.GetLogger().WithName("wq")}
//
// It is called by any goroutine, and must not call the store.
type Logger interface {
	Info(msg string, keysAndValues ...any)
	Error(err error, msg string, keysAndValues ...any)
}

// logHealth wraps StoreOptions.OnHealth, which may be nil, to log the changes.
func logHealth(to Logger, onHealth func(err error)) func(err error) {
	if to == nil {
		return onHealth
	}
	return func(err error) {
		if err == nil {
			to.Info("the store has recovered")
		} else {
			to.Error(err, "the store has failed; it goes on in memory until it has recovered")
		}
		if onHealth != nil {
			onHealth(err)
		}
	}
}

// logLeadership returns what a change of the ownership of a replicated store calls: it notifies,
// logs, and calls Replication.OnLeadership, which may be nil.
func logLeadership(
	to Logger, notify func(), onLeadership func(change Leadership)) func(change Leadership) {
	return func(change Leadership) {
		notify()
		switch {
		case to == nil:
		case change.Owner:
			to.Info("this process owns the store", "epoch", change.Epoch)
		default:
			to.Info("this process owns the store no more", "epoch", change.Epoch, "why", change.Why)
		}
		if onLeadership != nil {
			onLeadership(change)
		}
	}
}

// logFailure logs an error of a call that returns none. Three kinds are left out, since every call
// has them: those of a queue that shuts down, which client-go ignores, those of a failed store,
// which logHealth has logged, and those of a replica, which logLeadership has logged.
func logFailure(to Logger, queue string, err error) {
	switch code := codeOf(err); {
	case to == nil, code == ShuttingDown, code == NotDurable, code == NotOwner:
		return
	}
	to.Error(err, "a call failed", "queue", queue)
}
