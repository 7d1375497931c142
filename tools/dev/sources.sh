#!/usr/bin/env bash
# sources.sh: prints the C and C++ sources of this tree, one in each line.
set -euo pipefail
cd "$(dirname "$0")/../.."
shopt -s nullglob globstar
printf '%s\n' {include,base,storage,engine,server,tools,tests,examples,bindings}/**/*.{cc,c,h}
