//go:build cgo

package wq

// This file logs what no call returns.

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

// logFailure logs an error of a call that returns none. Two kinds are left out, since every call
// has them: those of a queue that shuts down, which client-go ignores, and those of a failed store,
// which logHealth has logged.
func logFailure(to Logger, queue string, err error) {
	if code := codeOf(err); to == nil || code == ShuttingDown || code == NotDurable {
		return
	}
	to.Error(err, "a call failed", "queue", queue)
}
