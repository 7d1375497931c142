#!/usr/bin/env bash
# snippets_test.sh CXX: compiles each block ```cpp and ```c of docs/: as a program if it has a main,
# otherwise as the body of a function, with the names that the pages leave to the reader.
set -euo pipefail

cxx=${1:?usage: snippets_test.sh CXX}
cd "$(dirname -- "$(realpath -- "$0")")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/fragments.cc" <<'END'
#include <prometheus/exposer.h>

#include <memory>
#include <string>

#include "wq/controller.h"
#include "wq/etcd_log.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/replicated_log.h"
#include "wq/server.h"
#include "wq/store.h"

using namespace std::chrono_literals;

extern wq::Status s;
extern wq::Queue *configs, *leases, *volumes;
extern const wq::ReconcileContext& context;
extern const std::string hostname, dir;
extern wq::StoreOptions options;
extern const std::unique_ptr<wq::Store> store;
extern const std::shared_ptr<wq::PrometheusProvider> provider;
extern prometheus::Exposer exposer;
wq::Status RunController(wq::Queue* queue);
END
cat >"$scratch/fragments.c" <<'END'
#include <string.h>

#include "wq/wq.h"

extern wq_error error;
extern wq_queue queue;
extern const struct {
  const char *name, *version;
  wq_bytes keys;
} listed[];
extern const size_t count;
END
awk -v fragments="$scratch/fragments" -v program="$scratch/program" '
  /^```(cpp|c)$/ { shown = 1; c = /c$/; text = "#line " (FNR + 1) " \"" FILENAME "\"\n"; next }
  /^```$/ && shown {
    shown = 0
    if (text ~ /int main\(/) printf "%s", text > (program (++programs) (c ? ".c" : ".cc"))
    else if (c) printf "wq_code Fragment%d(void) {\n%s  return code;\n}\n", ++count, text >> (fragments ".c")
    else printf "wq::Status Fragment%d() {\n%s  return {};\n}\n", ++count, text >> (fragments ".cc")
  }
  shown { text = text $0 "\n" }
  END { if (count == 0 || programs == 0) exit 1 }
' docs/*.md
for source in "$scratch"/*.cc; do
  "$cxx" -std=c++20 -Iinclude -fsyntax-only "$source"
done
for source in "$scratch"/*.c; do
  "$cxx" -x c -std=c99 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$source"
done
