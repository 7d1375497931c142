// Package manager has the shapes of controller-runtime's package, and a manager that runs one
// controller after another.
package manager

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
)

type Runnable interface{ Start(context.Context) error }

type Manager interface {
	Add(Runnable) error
	AddHealthzCheck(name string, check func(*http.Request) error) error
	AddReadyzCheck(name string, check func(*http.Request) error) error
	GetLogger() logr.Logger
	Start(ctx context.Context) error
}

// Recorded is a Manager for tests.
type Recorded struct {
	Healthz, Readyz map[string]func(*http.Request) error
	runnables       []Runnable
}

func New() *Recorded {
	return &Recorded{Healthz: map[string]func(*http.Request) error{},
		Readyz: map[string]func(*http.Request) error{}}
}

func (m *Recorded) Add(r Runnable) error {
	m.runnables = append(m.runnables, r)
	return nil
}
func (m *Recorded) AddHealthzCheck(name string, check func(*http.Request) error) error {
	m.Healthz[name] = check
	return nil
}
func (m *Recorded) AddReadyzCheck(name string, check func(*http.Request) error) error {
	m.Readyz[name] = check
	return nil
}
func (m *Recorded) GetLogger() logr.Logger { return logr.Logger{} }
func (m *Recorded) Start(ctx context.Context) error {
	for _, r := range m.runnables {
		if err := r.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}
