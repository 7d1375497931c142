#!/usr/bin/env bash
# run.sh BUILD_DIR: runs a controller of the real controller-runtime under a real kube-apiserver and
# etcd, which are compiled first: of 75 000 objects, killed, and as replicas. Needs Go 1.26 and the
# network; WQ_E2E_OBJECTS=8000 is a quick run. Exit status 77: skipped; the output says why.
set -euo pipefail

build=$(realpath -- "${1:?usage: run.sh BUILD_DIR}")
here=$(realpath -- "$(dirname -- "$0")")
proxy=$(go env GOPROXY 2>/dev/null || true)
# shellcheck source=tests/go/environment.sh
source "$here/../go/environment.sh" "$build"
unset GOPATH
export GOPROXY=$proxy GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
cd "$here"
go mod download k8s.io/kubernetes || { echo 'run.sh: skipped: the modules cannot be downloaded' >&2; exit 77; }

export WQ_E2E_PROGRAMS=$build/e2e WQ_E2E_WQCTL=$build/wqctl
mkdir -p "$WQ_E2E_PROGRAMS"
CGO_ENABLED=0 go build -o "$WQ_E2E_PROGRAMS/" tool  # etcd is called "server".
(cd ../../examples/kubernetes && go build -o "$WQ_E2E_PROGRAMS/" .)
go vet ./...
go test -tags wq_etcd -count=1 -timeout 7200s -v ./...
