#!/usr/bin/env bash
# symbols_test.sh LIBWQ_SO SOURCE_DIR: the library shows the C symbols that are promised (symbols.txt), all
# that the headers declare, and otherwise only the C++ interface.
#   symbols_test.sh LIBWQ_SO SOURCE_DIR --write    writes symbols.txt anew: for new calls only
set -euo pipefail
export LC_ALL=C  # One order of sorting everywhere.

library=${1:?usage: symbols_test.sh LIBWQ_SO SOURCE_DIR}
source=${2:?usage: symbols_test.sh LIBWQ_SO SOURCE_DIR}
promised=$(dirname -- "$(realpath -- "$0")")/symbols.txt

shown=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | sort)
c_symbols=$(grep '^wq_' <<<"$shown" | sed 's/@@\?/ /')
if [[ ${3:-} == --write ]]; then
  printf '%s\n' "$c_symbols" >"$promised"
fi

failed=0
complain() {
  printf '%s\n' "$*" >&2
  failed=1
}

diff "$promised" <(printf '%s\n' "$c_symbols") >&2 ||
  complain 'The C symbols are not those of symbols.txt (<). A promised one must stay; a new one is added.'
declared=$(grep -hoE '\bwq_[a-z_]+\(' "$source"/include/wq/c/*.h | tr -d '(' | sort -u)
missing=$(comm -23 <(printf '%s\n' "$declared") <(cut -d' ' -f1 <<<"$c_symbols"))
[[ -z $missing ]] || complain "Declared, but not shown: $missing"

# Nothing of other libraries.
others=$(grep -v '^wq_' <<<"$shown" | grep -vE '^_Z(TV|TI|TS|Thn[0-9_]+)?NK?2wq.*@@WQ_CXX_' || true)
[[ -z $others ]] || complain "Shown, but not of the interface: $others"
exit "$failed"
