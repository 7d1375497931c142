// Package reconcile has the shapes of controller-runtime's package.
package reconcile

import "context"

type NamespacedName struct {
	Namespace string
	Name      string
}

type Request struct {
	NamespacedName
}

type Result struct{}

type Reconciler interface {
	Reconcile(context.Context, Request) (Result, error)
}
