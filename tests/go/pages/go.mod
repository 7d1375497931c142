module pages

go 1.19

require (
	example.org/wq v0.0.0
	github.com/go-logr/logr v0.0.0
	k8s.io/client-go v0.0.0
	sigs.k8s.io/controller-runtime v0.0.0
)

replace (
	example.org/wq => ../../../bindings/go
	github.com/go-logr/logr => ./stubs/logr
	k8s.io/client-go => ./stubs/client-go
	sigs.k8s.io/controller-runtime => ./stubs/controller-runtime
)
