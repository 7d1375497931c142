//go:build !cgo

package wq

import "context"

// This file represents what needs the library in a build without cgo, so that a program of both
// kinds compiles. Metrics and NewManualClock are absent.

// errNoCgo is the error of all calls about a Store.
var errNoCgo = newError(NotSupported, "built without cgo: use wq.Dial")

// Store needs cgo: without it none can be opened. Use a Client.
type Store struct{}

// Open returns NotSupported: it needs cgo. Use Dial.
func Open(dir string, options StoreOptions) (*Store, error) { return nil, errNoCgo }

// OpenInMemory returns NotSupported: it needs cgo.
func OpenInMemory(options StoreOptions) (*Store, error) { return nil, errNoCgo }

func (s *Store) openQueue(string, openRequest) (backend, error) { return nil, errNoCgo }
func (s *Store) failureLogger() Logger                          { return nil }

// The methods of a Store, which return NotSupported.

func (s *Store) Close() error                      { return errNoCgo }
func (s *Store) DeleteQueue(name string) error     { return errNoCgo }
func (s *Store) Flush(durability Durability) error { return errNoCgo }
func (s *Store) Health() error                     { return errNoCgo }
func (s *Store) ProcessLogStatus() error           { return errNoCgo }
func (s *Store) Recover() error                    { return errNoCgo }
func (s *Store) QueueNames() ([]string, error)     { return nil, errNoCgo }
func (s *Store) UUID() (string, error)             { return "", errNoCgo }
func (s *Store) Dir() (string, error)              { return "", errNoCgo }

func (s *Store) IsOwner() bool                               { return false }
func (s *Store) Epoch() uint64                               { return 0 }
func (s *Store) WaitForLeadership(ctx context.Context) error { return errNoCgo }
func (s *Store) Resign() error                               { return errNoCgo }
func (s *Store) Replica() (ReplicaState, error)              { return ReplicaState{}, errNoCgo }

// ManualClock needs cgo: without it there is none.
type ManualClock struct{}
