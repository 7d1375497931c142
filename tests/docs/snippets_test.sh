#!/usr/bin/env bash
# snippets_test.sh CXX: compiles each block ```cpp of docs/: as a program if it has a main, otherwise
# as the body of a function, with the names that the pages leave to the reader.
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
awk -v fragments="$scratch/fragments.cc" -v program="$scratch/program" '
  /^```cpp$/ { shown = 1; text = "#line " (FNR + 1) " \"" FILENAME "\"\n"; next }
  /^```$/ && shown {
    shown = 0
    if (text ~ /int main\(/) printf "%s", text > (program (++programs) ".cc")
    else printf "wq::Status Fragment%d() {\n%s  return {};\n}\n", ++count, text >> fragments
  }
  shown { text = text $0 "\n" }
  END { if (count == 0 || programs == 0) exit 1 }
' docs/*.md
for source in "$scratch"/*.cc; do
  "$cxx" -std=c++20 -Iinclude -fsyntax-only "$source"
done
