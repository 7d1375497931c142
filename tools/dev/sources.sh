#!/usr/bin/env bash
# sources.sh: the C++ sources of this tree, one a line.
set -euo pipefail
cd "$(dirname "$0")/../.."
shopt -s nullglob globstar
printf '%s\n' {include,storage,engine,tools,tests,examples,bindings}/**/*.{cc,c,h}
