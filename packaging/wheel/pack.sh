#!/bin/sh
# pack.sh BUILD DIRECTORY PYTHON: makes a wheel of what was built, in that directory. The Python needs the package `wheel`.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
put() { cmake --install "$1" --strip --component "$2" --prefix "$3" >"$tree.log" || { cat "$tree.log"; exit 1; }; rm "$tree.log"; }
put "$1" Unspecified "$tree/ghhost"
put "$1" libraries "$tree/ghhost"
put "$1" wheel "$tree"
mkdir -p "$2"
"$3" -m wheel pack "$tree" --dest-dir "$2"
