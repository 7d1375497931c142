// Package etcd opens the log of a replicated store in etcd. Only with the build tag wq_etcd it
// links the library wq_etcd, which needs gRPC. It is a package of its own because a program without
// replication needs neither.
package etcd

// Options are those of wq/c/etcd.h.
type Options struct {
	Endpoints                 []string
	Prefix                    string
	CAFile, CertFile, KeyFile string
	User, Password            string
	RequestTimeoutMs          uint32
	NoCompaction              bool
}
