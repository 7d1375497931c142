#!/usr/bin/env bash
# pictures.sh: draws docs/pictures/*.svg from the *.dot beside them, by Graphviz. An SVG names the
# checksum of its source, by which tests/house checks that the SVG is up to date.
set -euo pipefail
cd "$(dirname "$0")/../../docs/pictures"

for source in *.dot; do
  sum=$(sha256sum <"$source" | cut -c1-16)
  dot -Tsvg "$source" | sed "s|^<svg |<!-- drawn from $source $sum -->\n&|" >"${source%.dot}.svg"
done
