#!/usr/bin/env bash
# The house rules. Each function rule_NAME looks at the tree in the working directory and prints one
# line for each violation: "file:line: why". $build is a build directory with compile_commands.json.
: "${build:=build}"

# Sources of the project, NUL-separated; arguments are the folders to look in.
sources() {
  local folder
  for folder in "$@"; do
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.cc' -o -name '*.c' -o -name '*.h' \) -print0
  done
}
all_sources() { sources include storage engine tools tests examples bindings; }
go_sources() { [[ ! -d bindings ]] || find bindings -type f -name '*.go' -print0; }

# violations WHY PATTERN: lines of the sources on stdin that match the extended regular expression.
violations() { xargs -0r grep -nHE -- "$2" | sed "s|^\([^:]*:[0-9]*\):.*|\1: $1|" || true; }

include() { printf '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](%s)' "$1"; }

# A file that nobody reads whole hides things.
rule_short_files() {
  { all_sources && go_sources; } | xargs -0r wc -l |
    awk '$2 != "total" && $1 > 400 { print $2 ":400: the file has " $1 " lines, more than 400" }'
}

# They cost a second a translation unit, and their types must not leak out of storage/. The
# benchmark's floor is bare RocksDB.
rule_rocksdb_and_protobuf_in_storage_sources_only() {
  all_sources |
    grep -zvE '^(storage|tests/storage)/[^/]*\.cc$|^tests/(bench/floor|support/watched_disk)\.cc$' |
    violations 'only storage/*.cc includes RocksDB or protobuf records' \
      "$(include 'rocksdb/|google/protobuf/|[^>"]*\.pb\.h')"
}

# They cost more than a second a translation unit. The benchmark is a tool, too.
rule_command_line_libraries_in_tools_only() {
  all_sources | grep -zvE '^tools/|^tests/bench/main\.cc$' |
    violations 'only tools/ includes spdlog or CLI11' "$(include 'spdlog/|CLI/')"
}

# tools -> engine -> storage; the promise in include/wq knows nothing below.
rule_includes_go_one_way() {
  sources include | violations 'a public header includes what is below' \
    "$(include 'engine/|storage/|tools/|tests/|absl/|[a-z_]*\.h"')"
  sources storage | violations 'storage includes what is above' "$(include 'engine/|tools/|tests/')"
  sources engine | violations 'the engine includes what is above' "$(include 'tools/|tests/')"
  sources tools examples | violations 'tests are for tests' "$(include 'tests/')"
  sources bindings | violations 'a binding includes what is not public' \
    "$(include 'engine/|storage/|tools/|tests/')"
  sources include storage engine tools examples |
    violations 'bindings are on top of all' "$(include 'bindings/')"
  sources examples | violations 'an example includes what users do not have' \
    "$(include 'engine/|storage/|tools/')"
}

# Time is injected; a sleep is either too short or too long.
rule_no_sleep_in_tests() {
  sources tests | violations 'tests do not sleep: use the manual clock, or wait for what you wait for' \
    '\<(sleep_for|sleep_until|usleep|nanosleep|sleep)[[:space:]]*\('
  go_sources | grep -z '_test\.go$' |
    violations 'tests do not sleep: wait for what you wait for' '\<time\.Sleep\('
}

# Who takes the Go package takes no other with it.
rule_go_needs_the_standard_library_only() {
  [[ ! -e bindings/go/go.mod ]] || grep -nE '^(require|replace)' bindings/go/go.mod |
    sed 's|^\([0-9]*\):.*|bindings/go/go.mod:\1: another module|' || true
}

# A test that is not built passes for ever. Sources that are compiled together are named in one that
# includes them.
rule_every_test_is_built() {
  local file built
  built=$(cat "$build/compile_commands.json")
  built+=$(grep -oE '"file": "[^"]*/unity_[^"]*"' <<<"$built" | cut -d'"' -f4 | xargs -r cat || true)
  while IFS= read -r file; do
    grep -qF "/$file\"" <<<"$built" || echo "$file:1: no target builds this test"
  done < <(find tests -type f -name '*_test.cc')
}

# A script that ctest does not know passes for ever, too.
rule_every_test_script_is_run() {
  local file
  while IFS= read -r file; do
    grep -rqF --include=CTestTestfile.cmake "/$file" "$build" || echo "$file:1: ctest does not run this test"
  done < <(find tests -type f \( -name '*_test.sh' -o -name '*.bats' \))
}

# The README shows what is compiled and run.
rule_readme_shows_the_example() {
  local shown language file
  for language in cpp c go; do
    file=examples/readme/main.${language/cpp/cc}
    [[ $language != go ]] || file=bindings/go/examples/readme/main.go
    # shellcheck disable=SC2016
    shown=$(sed -n "/^\`\`\`$language\$/,/^\`\`\`\$/p" README.md | sed '1d;$d')
    [[ $shown == "$(<"$file")" ]] || echo "README.md:1: its example is not $file"
  done
}

# Nothing of one machine.
rule_no_machine_paths() {
  find . \( -path ./.git -o -path './build*' \) -prune -o -type f -print0 |
    xargs -0 grep -nHIE '(^|[^A-Za-z0-9_.}~-])/(work|home|root|Users)/' |
    sed 's|^\./||; s|^\([^:]*:[0-9]*\):.*|\1: a path of one machine|' || true
}

# Whoever includes a header reads its first lines: they say what it is.
rule_headers_open_with_a_paragraph() {
  local file
  while IFS= read -r -d '' file; do
    [[ $(head -c 3 "$file") == '// ' ]] || echo "$file:1: the header does not open with what it is"
    grep -q '^#pragma once$' "$file" || echo "$file:1: no #pragma once"
  done < <(all_sources | grep -z '\.h$')
}
