#!/usr/bin/env bash
# symbols_test.sh LIBWQ_SO SOURCE_DIR: the library exports the promised C symbols (symbols.txt),
# which are all that the headers declare, and otherwise only the C++ interface. libwq.a is beside
# it, and libwq_etcd.a.
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
# wq/c/etcd.h is of the library wq_etcd, which a build without etcd lacks.
etcd=$(dirname -- "$library")/libwq_etcd.a
if [[ -e $etcd ]]; then
  missing=$(comm -23 <(grep -oE '\bwq_etcd_[a-z_]+\(' "$source/include/wq/c/etcd.h" | tr -d '(' | sort -u) \
    <(nm --defined-only "$etcd" 2>/dev/null | awk '$2 == "T" { print $3 }' | sort -u))
  [[ -z $missing ]] || complain "Declared in wq/c/etcd.h, but not in libwq_etcd.a: $missing"
fi
declared=$(find "$source/include/wq/c" -name '*.h' -not -name etcd.h -exec cat {} + |
  grep -oE '\bwq_[a-z_]+\(' | tr -d '(' | sort -u)
missing=$(comm -23 <(printf '%s\n' "$declared") <(cut -d' ' -f1 <<<"$c_symbols"))
[[ -z $missing ]] || complain "Declared, but not shown: $missing"

# Of C++ everything that the installed headers declare (the words in their code), and what
# libwq_server.a calls, and nothing else: no other internal symbol, and none of other libraries.
words=$(find "$source/include/wq"{,/internal/queue_calls.h} -maxdepth 1 -name '*.h' -not -name prometheus.h -not -name server.h \
  -not -name live_store.h -not -name etcd_log.h -exec cat {} + | sed 's|//.*||' | grep -oE '\w+' | sort -u)
# public: of the C++ symbols on stdin, those whose first name after wq:: is such a word.
public() {
  awk 'NR == FNR { word[$0]; next }
       { name = $0; sub(/\(.*/, "", name) }
       name ~ /wq::(c|storage)::|wq::[A-Za-z]+::Impl(::|$)/ { next }
       match(name, /wq::[A-Za-z0-9_]+/) && substr(name, RSTART + 4, RLENGTH - 4) in word' \
    <(printf '%s\n' "$words") -
}
cxx=$(grep -v '^wq_' <<<"$shown" | sed 's/@@WQ_CXX_.*//' | c++filt | sort -u)
others=$(comm -23 <(printf '%s\n' "$cxx") <(public <<<"$cxx" | sort -u))
[[ -z $others ]] || complain "Shown, but not of the interface: $others"
defined=$(nm --defined-only "$(dirname -- "$library")/libwq.a" 2>/dev/null | awk '$2 == "T" { print $3 }' |
  c++filt | grep '^wq::' | sort -u)
hidden=$(comm -23 <(public <<<"$defined" | sort -u) <(printf '%s\n' "$cxx"))
[[ -z $hidden ]] || complain "Of the interface, but not in packaging/libwq.map: $hidden"
exit "$failed"
