module sigs.k8s.io/controller-runtime

go 1.19

require (
	github.com/go-logr/logr v0.0.0
	k8s.io/client-go v0.0.0
)
