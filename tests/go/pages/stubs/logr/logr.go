// Package logr has the shape of the logger of controller-runtime.
package logr

type Logger struct{}

func (l Logger) WithName(name string) Logger                               { return l }
func (l Logger) Info(msg string, keysAndValues ...any)                     {}
func (l Logger) Error(err error, msg string, keysAndValues ...interface{}) {}
