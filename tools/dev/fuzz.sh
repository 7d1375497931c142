#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET...]: runs each fuzz target (tests/fuzz), or each TARGET, for SECONDS,
# starting from its corpus. Needs clang 14. An input that fails is left in build-fuzz/crash-*: add
# it to the corpus.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift
targets=("$@")
if ((${#targets[@]} == 0)); then
  for file in tests/fuzz/*_fuzz.cc; do targets+=("$(basename "$file" .cc)"); done
fi

cmake --fresh -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DWQ_FUZZ=ON -DWQ_TOOLS=OFF -DWQ_EXAMPLES=OFF >/dev/null
cmake --build build-fuzz --target "${targets[@]}"
# The sanitizers fail where the kernel randomises addresses by more than 28 bits.
plain=()
setarch -R true 2>/dev/null && plain=(setarch -R)
for target in "${targets[@]}"; do
  found=build-fuzz/corpus/$target
  mkdir -p "$found"
  log=build-fuzz/$target.log
  if ! "${plain[@]}" "build-fuzz/tests/$target" -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="build-fuzz/crash-$target-" "$found" "tests/fuzz/corpus/$target" \
    >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
  fi
  echo "$target total: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
done
