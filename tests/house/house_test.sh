#!/usr/bin/env bash
# house_test.sh BUILD_DIR: checks the house rules (rules.sh) on this tree. Before that, each rule must
# pass on a small clean tree and must catch a violation that is planted there: a check that cannot
# fail is none.
set -euo pipefail

build=$(realpath -- "${1:?usage: house_test.sh BUILD_DIR}")
here=$(dirname -- "$(realpath -- "$0")")
# shellcheck source=tests/house/rules.sh
source "$here/rules.sh"
real_build=$build

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
  printf '%s\n' "$*" >&2
  failures=$((failures + 1))
}

# A tree without a violation, in the working directory.
clean_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree"/{include/wq,base,storage/check,engine/queue,tools/wqctl,docs,tools/dev,tests/engine,tests/storage,tests/mutants} \
    "$scratch/tree"/{examples/readme,bindings/go/examples/readme,build/tests}
  cd "$scratch/tree"
  build=$PWD/build
  printf '// A queue.\n#pragma once\n#include "wq/status.h"\n' >include/wq/queue.h
  printf '#include <rocksdb/db.h>\n#include "storage/records.pb.h"\n' >storage/db.cc
  printf '#include "storage/db.h"\n' >engine/queue/queue.cc
  touch {storage,engine/queue,tools/wqctl}/CMakeLists.txt
  printf '#include <CLI/CLI.hpp>\n#include "wq/queue.h"\n' >tools/wqctl/main.cc
  printf '#include "engine/queue/queue.h"\n' >tests/engine/queue_test.cc
  printf '#!/bin/sh\n' >tests/engine/queue_test.sh
  printf "  'some_tests A.*'\n" >tests/mutants/run.sh
  touch tools/dev/torture.sh tests/CMakeLists.txt
  # shellcheck disable=SC2016
  printf '#!/bin/sh\n[ "$2" != "--gtest_filter=A.*" ] || printf "A.\\n  B\\n"\n' >build/tests/some_tests
  chmod +x build/tests/some_tests
  printf 'int main() {}\n' >examples/readme/main.cc
  printf 'int main(void) {}\n' >examples/readme/main.c
  # shellcheck disable=SC2016
  printf 'Text.\n```cpp\nint main() {}\n```\n' >README.md
  printf 'project(wq VERSION 1.2.3)\n' >CMakeLists.txt
  printf '# Changelog\n\n## Unreleased (1.2.3)\n' >CHANGELOG.md
  printf 'package main\n' >bindings/go/examples/readme/main.go
  # shellcheck disable=SC2016
  printf 'Text.\n```c\nint main(void) {}\n```\nMore.\n```go\npackage main\n```\n' >docs/start.md
  printf 'package wq\n' >bindings/go/queue_test.go
  printf 'module example.org/wq\n' >bindings/go/go.mod
  printf '[{"file": "/x/tests/engine/queue_test.cc"}]\n' >build/compile_commands.json
  printf 'add_test(q "/x/tests/engine/queue_test.sh")\n' >build/CTestTestfile.cmake
}

# plant RULE FILE LINE: one more line in FILE is a violation of RULE, and the rule says where.
planted=' '
plant() {
  clean_tree
  mkdir -p "$(dirname "$2")"
  printf '%s\n' "$3" >>"$2"
  "rule_$1" | grep -qF "$2:" || fail "self-test: $1 does not see '$3' in $2"
  planted+="$1 "
}

mapfile -t rules < <(declare -F | sed -n 's/^declare -f rule_//p')

clean_tree
for rule in "${rules[@]}"; do
  found=$("rule_$rule")
  [[ -z $found ]] || fail "self-test: $rule cries wolf: $found"
done

clean_tree
mkdir storage/many
for ((i = 0; i <= 30; ++i)); do printf '// A file.\n#pragma once\n' >"storage/many/file_$i.h"; done
rule_small_folders | grep -qF 'storage/many:' || fail 'self-test: small_folders does not see 31 files'
planted+='small_folders '
clean_tree
sed -i 's/1\.2\.3/1.2.4/' CMakeLists.txt
rule_the_changelog_names_the_version | grep -qF 'CHANGELOG.md:' ||
  fail 'self-test: the_changelog_names_the_version does not see another version'
planted+='the_changelog_names_the_version '
clean_tree
for file in include/wq/status.h include/wq/c/base.h proto/wq/v1/types.proto bindings/go/errors.go \
  bindings/python/wq/errors.py docs/server.md; do
  mkdir -p "${file%/*}"
  cp "$here/../../$file" "$file"
done
[[ -z $(rule_the_codes_are_the_same_everywhere) ]] || fail 'self-test: the_codes_are_the_same_everywhere cries wolf'
printf '  kNewest = 63,\n' >>include/wq/status.h
found=$(rule_the_codes_are_the_same_everywhere)
for file in include/wq/c/base.h proto/wq/v1/types.proto bindings/go/errors.go bindings/python/wq/errors.py \
  docs/server.md; do
  grep -qF "$file:" <<<"$found" || fail "self-test: the_codes_are_the_same_everywhere does not see a code less in $file"
done
planted+='the_codes_are_the_same_everywhere '
clean_tree
for file in include/wq/options.h bindings/c/boundary/options.cc bindings/go/linked_options.go \
  tools/wqctl/serve/serve_config.cc; do
  mkdir -p "${file%/*}"
  cp "$here/../../$file" "$file"
done
[[ -z $(rule_queue_options_are_the_same_everywhere) ]] || fail 'self-test: queue_options_are_the_same_everywhere cries wolf'
sed -i 's/^  bool merge_delays = false;/&\n  std::chrono::microseconds newest{0};/' include/wq/options.h
found=$(rule_queue_options_are_the_same_everywhere)
for file in bindings/c/boundary/options.cc bindings/go/linked_options.go tools/wqctl/serve/serve_config.cc; do
  grep -qF "$file:1: QueueOptions::newest" <<<"$found" ||
    fail "self-test: queue_options_are_the_same_everywhere does not see an option less in $file"
done
planted+='queue_options_are_the_same_everywhere '
plant rocksdb_and_protobuf_in_storage_sources_only engine/queue/queue.cc '#include <rocksdb/db.h>'
plant rocksdb_and_protobuf_in_storage_sources_only storage/db.h '#  include "rocksdb/options.h"'
plant rocksdb_and_protobuf_in_storage_sources_only tests/support/child.cc '#include <rocksdb/db.h>'
plant rocksdb_and_protobuf_in_storage_sources_only tools/wqctl/dump.cc '#include "storage/records.pb.h"'
plant rocksdb_and_protobuf_in_storage_sources_only include/wq/queue.h '#include <google/protobuf/any.h>'
plant rocksdb_and_protobuf_in_storage_sources_only tools/bench/keys.cc '#include <rocksdb/db.h>'
plant command_line_libraries_in_tools_only engine/queue/queue.cc '#include <spdlog/spdlog.h>'
plant command_line_libraries_in_tools_only tests/engine/queue_test.cc '#include <CLI/CLI.hpp>'
plant includes_go_one_way include/wq/queue.h '#include "engine/order/item.h"'
plant includes_go_one_way include/wq/queue.h '#include <absl/strings/string_view.h>'
plant includes_go_one_way base/files.cc '#include "storage/records.h"'
plant includes_go_one_way storage/db.cc '#include "engine/order/item.h"'
plant includes_go_one_way storage/db.cc '#include "storage/check/manifest.h"'
plant includes_go_one_way engine/order/item.cc '#include "engine/queue/queue.h"'
plant includes_go_one_way engine/queue/queue.cc '#include "tools/wqctl/verb.h"'
plant only_the_interface_of_storage engine/queue/queue.cc '#include "storage/check/manifest.h"'
plant only_the_interface_of_storage tools/wqctl/main.cc '#include "storage/records.h"'
plant users_of_the_public_headers tools/wqctl/main.cc '#include "base/crc32c.h"'
plant users_of_the_public_headers server/http/http.cc '#include "engine/queue/queue.h"'
plant users_of_the_public_headers bindings/c/queue.cc '#include "engine/order/item.h"'
plant users_of_the_public_headers examples/readme/main.cc '#include "engine/order/item.h"'
plant users_of_the_public_headers tools/wqctl/main.cc '#include "tests/support/fixture.h"'
plant users_of_the_public_headers engine/queue/queue.cc '#include "bindings/c/boundary/call.h"'
# engine/queue/queue.cc includes storage/db.h.
plant no_cycles_between_files storage/db.h '#include "engine/queue/queue.h"'
plant a_target_for_each_folder engine/other/other.cc '// Its folder has no CMakeLists.txt.'
plant signals_of_wqctl_in_one_place tools/wqctl/verbs/add.cc '  std::signal(SIGINT, SIG_IGN);'
plant tests_leave_nothing_to_chance tests/engine/queue_test.cc '  std::mt19937 random(std::random_device{}());'
plant tests_leave_nothing_to_chance tests/engine/queue_test.cc '  while (!done) std::this_thread::yield();'
plant tests_leave_nothing_to_chance tests/engine/queue_test.cc '  while (!done) sched_yield();'
plant tests_leave_nothing_to_chance tests/engine/queue_test.cc '  EXPECT_LT(steady_clock::now() - begun, seconds(3));'
plant tests_leave_nothing_to_chance bindings/go/queue_test.go '	seed := time.Now().UnixNano()'
plant no_sleep_in_tests tests/engine/queue_test.cc '  std::this_thread::sleep_for(1ms);'
plant no_sleep_in_tests tests/storage/kill_test.cc '  ::usleep (10);'
plant no_sleep_in_tests bindings/go/queue_test.go '	time.Sleep(time.Second)'
plant go_needs_the_standard_library_only bindings/go/go.mod 'require example.com/other v1.0.0'
plant every_test_is_built tests/engine/forgotten_test.cc '// Nobody builds this.'
plant every_test_script_is_run tests/engine/forgotten_test.sh '# Nobody runs this.'
plant every_filter_matches_a_test tests/mutants/run.sh "  'some_tests A.*:None.* N=1'"
plant every_filter_matches_a_test tests/mutants/run.sh "  'some_tests A.*-None.*'"
plant every_filter_matches_a_test tools/dev/torture.sh '  N=1 gtest some_tests --gtest_filter=-None.*'
plant every_filter_matches_a_test tests/CMakeLists.txt "$(printf 'set(deep_some_tests A.*\n None.*)')"
plant tests_find_their_programs_when_they_run tests/engine/CMakeLists.txt "find_program(A a)"
# shellcheck disable=SC2016
plant readme_shows_the_example README.md "$(printf 'x\n```cpp\nint main() { }\n```')"
# shellcheck disable=SC2016
plant readme_shows_the_example docs/start.md "$(printf 'x\n```c\nint main() { }\n```')"
# shellcheck disable=SC2016
plant readme_shows_the_example docs/start.md "$(printf 'x\n```go\npackage other\n```')"
# shellcheck disable=SC2016
plant no_machine_paths docs/testing.md "Look into /$(printf home)/me/wq."
plant headers_open_with_a_paragraph engine/item.h '#pragma once'
plant headers_open_with_a_paragraph engine/item.h '// An item, without a guard.'

# shellcheck disable=SC2016
plant the_where_page_is_true docs/where.md '| Where? | [`engine/none.cc`](../engine/none.cc) | `None` |'
# shellcheck disable=SC2016
plant the_where_page_is_true docs/where.md '| Where? | [`storage/db.cc`](../storage/db.cc) | `None` |'
plant pictures_are_of_their_sources docs/pictures/key.dot 'digraph key {}'
plant short_lines engine/queue/queue.cc "// $(printf 'x%.0s' {1..98})"
plant short_lines docs/testing.md "$(printf 'word %.0s' {1..21})"

for rule in "${rules[@]}"; do
  [[ $planted == *" $rule "* ]] || fail "self-test: no violation of $rule is planted"
done

cd "$here/../.."
build=$real_build
for rule in "${rules[@]}"; do
  found=$("rule_$rule")
  [[ -z $found ]] || fail "$rule:"$'\n'"$found"
done

((failures == 0)) || { echo "$failures house rules failed" >&2; exit 1; }
echo "${#rules[@]} house rules hold"
