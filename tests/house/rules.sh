#!/usr/bin/env bash
# The house rules. Each function rule_NAME checks the tree in the working directory and prints one
# line for each violation: "file:line: why". $build is a build directory with compile_commands.json.
: "${build:=build}"
export LC_ALL=C.UTF-8

# Sources of the project, NUL-separated; arguments are the folders to search.
sources() {
  local folder
  for folder in "$@"; do
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.cc' -o -name '*.c' -o -name '*.h' \) -print0
  done
}
all_sources() { sources include base storage engine server tools tests examples bindings; }
go_sources() { [[ ! -d bindings ]] || find bindings -type f -name '*.go' -print0; }

# violations WHY PATTERN: lines of the sources on stdin that match the extended regular expression.
violations() { xargs -0r grep -nHE -- "$2" | sed "s|^\([^:]*:[0-9]*\):.*|\1: $1|" || true; }

include() { printf '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](%s)' "$1"; }

# A folder is an overview of its files.
rule_small_folders() {
  { all_sources && go_sources | grep -zv '_test\.go$'; } | tr '\0' '\n' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk '$1 > 30 { print $2 ":1: the folder has " $1 " source files, more than 30" }'
}

# These headers cost a second per translation unit, and their types must not leak out of storage/.
# The benchmark's floor is bare RocksDB. The server's messages and etcd's are protobuf's.
rule_rocksdb_and_protobuf_in_storage_sources_only() {
  all_sources |
    grep -zvE '^(storage|tests/storage)/.*\.cc$|^(tools/bench/floor|tests/(fuzz/service_fuzz|support/watched_disk))\.cc$|^(server|tests/server|storage/etcd|tests/etcd)/' |
    violations 'only storage/**.cc includes RocksDB or protobuf records' \
      "$(include 'rocksdb/|google/protobuf/|[^>"]*\.pb\.h')"
}

# These headers cost more than a second per translation unit.
rule_command_line_libraries_in_tools_only() {
  all_sources | grep -zv '^tools/' |
    violations 'only tools/ includes spdlog or CLI11' "$(include 'spdlog/|CLI/')"
}

# The folders from the bottom to the top. A file includes files of its own folder and of those above
# it in this list. (Public headers include nothing of the layers; a folder that is not listed is the
# top.)
layers=(include/wq base storage storage/directory storage/process_log storage/history storage/rocksdb storage/check storage/database storage/offline storage/replication
  storage/etcd engine/metrics engine/history engine/order engine/state engine/commit engine/recovery engine/replication engine/queue engine/store engine/offline
  engine/controller server/errors server/api server/series server/browse server/work server/service server/view server/net server/rpc server/http server/page
  server/client server
  server/prometheus bindings/c/boundary bindings/c bindings/c/etcd
  tools/wqctl/signals tools/wqctl/text tools/wqctl/cli tools/wqctl/replication tools/wqctl/watch tools/wqctl/process tools/wqctl/work tools/wqctl/serve tools/wqctl/verbs
  tools/wqctl)

# includes FOLDER...: "file:line folder included-file" for each include of a file of this tree. The
# benchmark measures what is below the library, too, so it includes anything.
includes() {
  sources "$@" | { grep -zv '^tools/bench/' || true; } | xargs -0r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]*/[^"]*"' | grep -v '"absl/' |
    sed -E 's|^(([^:]*)/[^:/]*:[0-9]*):[^"]*"(.*)"|\1 \2 \3|; s| wq/([^ ]*)$| include/wq/\1|' || true
}

rule_includes_go_one_way() {
  sources include | violations 'a public header includes what is below' \
    "$(include '(base|engine|storage|server|tools|tests)/|absl/|[a-z_]*\.h"')"
  includes base storage engine server tools bindings |
    awk -v layers="${layers[*]}" '
      BEGIN { n = split(layers, names, " "); for (i = 1; i <= n; ++i) level[names[i]] = i }
      { to = $3; sub(/\/[^\/]*$/, "", to)
        if (to !~ /^include\/wq/ && (!(to in level) || level[to] > level[$2]) && to != $2)
          print $1 ": " $2 " is below " to }'
}

# The engine includes only the headers directly in storage/; server, tools and bindings include none
# of storage/.
rule_only_the_interface_of_storage() {
  includes engine server tools bindings | awk '
    $3 ~ /^storage\/[^\/]*\// || ($2 !~ /^engine/ && $3 ~ /^storage\//) {
      print $1 ": " $3 " is internal to storage/" }'
}

# Tools, bindings, server and examples use only what users of the library have, and of base/ the
# annotated mutex, the mutants, the names and the files.
rule_users_of_the_public_headers() {
  includes server tools bindings | awk '
    $3 ~ /^engine\// || ($2 ~ /^tools/ && $3 !~ /^(tools|include)\// && $3 !~ /^base\/(mut(ex|ant)|files|names)\.h$/ &&
      $3 !~ /^server\/(net\/(systemd_notify|secret_file)|errors\/error_(form|groups))\.h$/) {
      print $1 ": use include/wq" }'
  sources examples | violations 'an example includes what users do not have' \
    "$(include '(base|engine|storage|server|tools|tests|bindings)/')"
  sources include base storage engine server tools |
    violations 'bindings are on top of all' "$(include 'bindings/')"
  sources include base storage engine server tools examples bindings |
    violations 'tests are for tests' "$(include 'tests/')"
}

# A unit is a header and its source. Two that include one another can only be read together.
rule_no_cycles_between_files() {
  includes base storage engine server tools bindings |
    awk '{ from = $1; sub(/\.[a-z]*:[0-9]*$/, "", from); to = $3; sub(/\.h$/, "", to); print from, to }' |
    awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null | sed -n 's|^tsort: \([^-].*/.*\)$|\1.h:1: is in a cycle of includes|p' || true
}

# One folder, one CMake target: the linker then knows the layers, too.
rule_a_target_for_each_folder() {
  sources base storage engine server bindings tools | tr '\0' '\n' | sed -n 's|/[^/]*\.cc$||p' | sort -u |
    while IFS= read -r folder; do
      [[ -e $folder/CMakeLists.txt || -e $folder/../CMakeLists.txt && $folder == tools/* ]] || find "$folder" -maxdepth 1 -name '*.cc' -printf '%p:1: no target for its folder\n'
    done
}

# How a verb ends by a signal is decided in one place. main.cc sets what a new process
# inherits, and the processes that run commands handle their own.
rule_signals_of_wqctl_in_one_place() {
  sources tools |
    { grep -zv -e '^tools/bench/' -e '^tools/wqctl/signals/stop_signals\.' -e '^tools/wqctl/process/' \
      -e '^tools/wqctl/main\.cc$' || true; } |
    violations 'handles a signal: signals/stop_signals.h does' \
      '\<(sigaction|signalfd|pthread_sigmask|sigprocmask|alarm|std::signal)[[:space:]]*\('
}

# Time is injected; a sleep is either too short or too long.
rule_no_sleep_in_tests() {
  sources tests | violations 'tests do not sleep: use the manual clock, or wait for what you wait for' \
    '\<(sleep_for|sleep_until|usleep|nanosleep|sleep)[[:space:]]*\('
  go_sources | grep -z '_test\.go$' |
    violations 'tests do not sleep: wait for what you wait for' '\<time\.Sleep\('
}

# The same verdict every time: one seed, one way to wait, and no assertion about real time. Not in the
# folders that only make check runs.
rule_tests_leave_nothing_to_chance() {
  sources tests | grep -zvE '^tests/(failover/|server/kill/|crash/soak_|mirror/)' >"$build/house.quick"
  violations 'draw from support::Seed()' '\<random_device\>' <"$build/house.quick"
  violations 'does not spin: support::Eventually waits' 'this_thread::yield|sched_yield' <"$build/house.quick"
  violations 'asserts elapsed time' '(EXPECT|ASSERT)_L[TE]\(.*(clock::now\(\)|[Ee]lapsed)' <"$build/house.quick"
  go_sources | grep -z '_test\.go$' | violations 'draw from WQ_SEED' 'time\.Now\(\)\.Unix'
}

# The Go package depends on no other module.
rule_go_needs_the_standard_library_only() {
  [[ ! -e bindings/go/go.mod ]] || grep -nE '^(require|replace)' bindings/go/go.mod |
    sed 's|^\([0-9]*\):.*|bindings/go/go.mod:\1: another module|' || true
}

# A test that is not built never fails. Sources that are compiled together are named in a unity
# source that includes them.
rule_every_test_is_built() {
  local file built
  built=$(cat "$build/compile_commands.json")
  built+=$(grep -oE '"file": "[^"]*/unity_[^"]*"' <<<"$built" | cut -d'"' -f4 | xargs -rd '\n' cat || true)
  while IFS= read -r file; do
    grep -qF "/$file\"" <<<"$built" || echo "$file:1: no target builds this test"
  done < <(find tests -type f -name '*_test.cc')
}

# A script that ctest does not run never fails.
rule_every_test_script_is_run() {
  local file
  while IFS= read -r file; do
    grep -rqF --include=CTestTestfile.cmake "/$file" "$build" || echo "$file:1: ctest does not run this test"
  done < <(find tests -type f \( -name '*_test.sh' -o -name '*.bats' \))
}

# A filter that matches no test leaves out what it should run. Binaries that are not built are not
# asked.
rule_every_filter_matches_a_test() {
  local file binary filter pattern patterns
  {
    sed -nE "s|^  '([a-z_/]+_tests) ([^ ']*).*|tests/mutants/run.sh \1 \2|p" tests/mutants/run.sh
    sed -nE "s|.* gtest ([a-z_]+_tests) --gtest_filter='?([^' ;]*).*|tools/dev/torture.sh \1 \2|p" tools/dev/torture.sh
    tr '\n' ' ' <tests/CMakeLists.txt | grep -oE 'set\(deep_[a-z_]+_tests [^)]*' |
      sed 's|set(deep_|tests/CMakeLists.txt |' || true
  } | while read -r file binary filter; do
    [[ -x $build/tests/$binary ]] || continue
    IFS=': -' read -ra patterns <<<"$filter"
    for pattern in "${patterns[@]}"; do
      [[ -z $pattern ]] || "$build/tests/$binary" --gtest_list_tests --gtest_filter="$pattern" | grep '^  ' >/dev/null ||
        echo "$file:1: no test of $binary matches $pattern"
    done
  done
}

# `make demo` configures the tests, too, and `make test` installs their programs only after that.
rule_tests_find_their_programs_when_they_run() {
  find tests -name CMakeLists.txt -print0 |
    violations 'a program that is looked for here is not installed yet: name it in COMMAND' 'find_program'
}

# The README and docs/start.md show what is compiled and run.
rule_readme_shows_the_example() {
  local example page language file shown
  for example in README.md:cpp:examples/readme/main.cc docs/start.md:c:examples/readme/main.c \
    docs/start.md:go:bindings/go/examples/readme/main.go; do
    IFS=: read -r page language file <<<"$example"
    # shellcheck disable=SC2016
    shown=$(sed -n "/^\`\`\`$language\$/,/^\`\`\`\$/p" "$page" | sed '1d;$d')
    [[ $shown == "$(<"$file")" ]] || echo "$page:1: its example is not $file"
  done
}

# The version is in CMakeLists.txt; the changelog begins with it.
rule_the_changelog_names_the_version() {
  local version heading
  version=$(sed -nE 's/^project\(.* VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  heading=$(grep -m 1 '^## ' CHANGELOG.md)
  [[ " ${heading//[()]/ } " == *" $version "* ]] || echo "CHANGELOG.md:1: its first heading is not of $version"
}

# Nothing of one machine.
rule_no_machine_paths() {
  find . \( -path ./.git -o -path './build*' \) -prune -o -type f -print0 |
    xargs -0 grep -nHIE '(^|[^A-Za-z0-9_.}~-])/(work|home|root|Users)/' |
    sed 's|^\./||; s|^\([^:]*:[0-9]*\):.*|\1: a path of one machine|' || true
}

# The first lines of a header say what it is.
rule_headers_open_with_a_paragraph() {
  local file
  while IFS= read -r -d '' file; do
    [[ $(head -c 3 "$file") == '// ' ]] || echo "$file:1: the header does not open with what it is"
    grep -q '^#pragma once$' "$file" || echo "$file:1: no #pragma once"
  done < <(all_sources | grep -z '\.h$')
}

# docs/where.md answers with a file and a name in it.
# shellcheck disable=SC2016
rule_the_where_page_is_true() {
  [[ ! -e docs/where.md ]] || grep -nE '^\|.*\|.*`.*\|.*`.*\|$' docs/where.md |
    sed -E 's#^([0-9]+):.*\| \[`([^`]*)`\]\(([^)]*)\) \| `([^`]*)` \|$#\1\t\2\t\3\t\4#' |
    while IFS=$'\t' read -r line file link name; do
      if [[ -z $name ]]; then
        echo "docs/where.md:$line: not a row of question, file and name"
      elif [[ $(realpath -m "docs/$link") != "$(realpath -m "$file")" ]]; then
        echo "docs/where.md:$line: the link goes to $link"
      elif ! grep -qsF -- "$name" "$file"; then
        echo "docs/where.md:$line: $file has no $name"
      fi
    done
}

# The pictures are drawn from their sources by tools/dev/pictures.sh.
rule_pictures_are_of_their_sources() {
  local source
  for source in docs/pictures/*.dot; do
    [[ -e $source ]] || continue
    grep -qsF "drawn from ${source##*/} $(sha256sum <"$source" | cut -c1-16)" "${source%.dot}.svg" ||
      echo "$source:1: its picture is not drawn from it; run make pictures"
  done
}

# Columns, not bytes: grep counts characters in a UTF-8 locale.
rule_short_lines() {
  {
    { all_sources && go_sources; } | xargs -0r grep -nHE '^.{101}'
    find ./*.md docs bindings examples -name '*.md' -exec awk '
      FNR == 1 { code = 0 }
      /^ *```/ { code = !code; next }
      !code && !/^ *(\||!\[)/ { print FILENAME ":" FNR ":" $0 }' {} + | grep -E '^[^:]*:[0-9]*:.{101}'
  } | sed 's|^\([^:]*:[0-9]*\):.*|\1: more than 100 columns|' || true
}

# Each field of QueueOptions can be set in C, in Go and in a section of wqctl serve's file, which
# makes the queues of remote clients. Not where it is a function, or the deed of opening.
rule_queue_options_are_the_same_everywhere() {
  local door field not_here
  [[ -e include/wq/options.h ]] || return 0
  for door in bindings/c/boundary/options.cc bindings/go/linked_options.go tools/wqctl/serve/serve_config.cc; do
    case $door in
      tools/*) not_here='create_if_missing group_of' ;;
      bindings/go/*) not_here='group_of' ;;  # It has a function of its own.
      *) not_here='group_of' ;;
    esac
    while IFS= read -r field; do
      [[ " $not_here " == *" $field "* ]] || grep -qE "(->|\.)$field(_|\b)" "$door" ||
        echo "$door:1: QueueOptions::$field cannot be set here"
    done < <(awk '/^struct QueueOptions/,/^};/' include/wq/options.h |
      sed -nE 's/^  [A-Za-z_:<][^=]* ([a-z_]+)( =.*|\{.*\});$/\1/p')
  done
}

# The codes of Status are the same in every language, with the same numbers where they have numbers.
rule_the_codes_are_the_same_everywhere() {
  local codes name
  [[ -e include/wq/status.h ]] || return 0
  codes=$(sed -nE 's/^  k([A-Za-z]+) = ([0-9]+),.*/\1 \2/p' include/wq/status.h)
  # differs FILE LIST: LIST has lines "NOT_FOUND 2" or "NotFound 2".
  differs() {
    diff -q <(tr -d '_' <<<"${codes^^}" | sort) <(tr -d '_' <<<"${2^^}" | sort) >/dev/null ||
      echo "$1:1: its codes are not those of include/wq/status.h"
  }
  differs include/wq/c/base.h "$(sed -nE 's/^  WQ_([A-Z_]+) = ([0-9]|[1-5][0-9]),.*/\1 \2/p' include/wq/c/base.h)"
  differs proto/wq/v1/types.proto "$(sed -nE 's/^  CODE_([A-Z_]+) = ([0-9]+);.*/\1 \2/p' proto/wq/v1/types.proto)"
  differs bindings/go/errors.go "Ok 0
$(sed -nE 's/^\t([A-Za-z]+) +(Code )?= +([0-9]|[1-5][0-9])( .*)?$/\1 \3/p' bindings/go/errors.go)"
  while IFS= read -r name; do
    grep -qE "^(class $name\(Error\):|    code = \"$name\")$" bindings/python/wq/errors.py || echo "bindings/python/wq/errors.py:1: no class for $name"
    grep -qE "^\\| .*\`$name\`.* \\| \`[A-Z_]+\` \\| [0-9]+ \\|$" docs/server.md || echo "docs/server.md:1: no row of Errors for $name"
  done < <(cut -d' ' -f1 <<<"$codes" | grep -vx Ok)
}
