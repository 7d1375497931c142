#!/usr/bin/env bash
# pages.sh MODULE DIR: runs the code that README.md and the package's comment in MODULE show, and
# compiles that of docs/sources.md, in DIR, which it makes anew. controller-runtime and client-go are
# the stubs of this directory.
set -euo pipefail

module=$(realpath -- "${1:?usage: pages.sh MODULE DIR}")
dir=${2:?usage: pages.sh MODULE DIR}
here=$(realpath -- "$(dirname -- "$0")")

rm -rf -- "$dir"
cp -r -- "$here" "$dir"
cd "$dir"
go mod edit -replace "example.org/wq=$module"

# The first block of the pages, and the code in the package's comment.
first() { awk '/^```/ { if (inside) exit; inside = /^```go$/; next } inside' "$1"; }
readme=$(first "$module/README.md")
sources=$(first "$module/../../docs/sources.md")
comment=$(sed -n '/^package/q; s|^//\t||p' "$module/doc.go")
[[ $readme == *NewQueue* && $comment == *GetContext* && $sources == *OpenSource* ]] ||
  { echo 'pages: the code was not found' >&2; exit 1; }

# The store of a test; and the loop gets its queue, so that the test can shut it down.
readme=${readme//\"\/var\/lib\/controller\/wq\"/dir}
comment=${comment//reconcile(key)/reconcile(pods, key)}
{
  cat <<'END'
package pages

import (
	"context"
	"errors"
	"net/http"

	"example.org/wq"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func readme(ctx context.Context, mgr manager.Manager, r reconcile.Reconciler, dir string) error {
END
  printf '%s\n' "$readme" | sed 's/^./\t&/'
  printf '}\n\n'
  echo 'func comment(ctx context.Context, reconcile func(*wq.Queue[string], string)) error {'
  printf '%s\n' "$comment" | sed 's/^./\t&/'
  printf '}\n\n'
  echo 'func sources(queue *wq.Queue[string], cluster cluster, build string) error {'
  printf '%s\n' "$sources" | sed 's/^./\t&/'
  printf '\treturn nil\n}\n'
} >shown.go
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || { echo "pages: gofmt would change: $unformatted" >&2; exit 1; }
go vet .
go test -count=1 -timeout 120s .
