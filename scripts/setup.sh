#!/usr/bin/env bash
# Installs what the build needs and is missing, finds or gets LibTorch, and writes its directory to build/torch-dir.
#   scripts/setup.sh          for building and running
#   scripts/setup.sh --wheel  also what makes wheels
#   scripts/setup.sh --test   also what the tests need
#   scripts/setup.sh --test-all   also what the fuzzers, clang-tidy and the test of Slurm need
# Variables: GH_TORCH_DIR (or Torch_DIR, CMAKE_PREFIX_PATH) use this LibTorch; GH_TORCH_VERSION another version from the package
# index; GH_TORCH_INDEX another index.
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=${GH_TORCH_VERSION:-2.13.0}
clang_format_version=14.0.6
tensorboard_version=2.21.0
safetensors_version=0.8.0
wheel_version=0.48.0
scikit_build_version=1.1.2
packages=(g++ cmake ninja-build ccache make python3 libboost-dev libtomlplusplus-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libssl-dev libcurl4-openssl-dev libjpeg-dev libspng-dev zlib1g-dev libgloo-dev pkg-config catch2)

say() { printf 'setup: %s\n' "$*" >&2; }

install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  say "missing packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
      say "these need root rights. Please run:  sudo apt-get update && sudo $command"
      exit 69
    fi
    as_root=(sudo)
  fi
  say "running: ${as_root[*]} $command"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command >&2
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "this system has no apt-get; install the equivalents of: ${packages[*]}"
else
  # A tool that is there without its Debian package is as good.
  wanted=()
  for package in "${packages[@]}"; do
    case $package in
      g++ | cmake | make | ccache | python3) command -v "$package" >/dev/null || wanted+=("$package") ;;
      ninja-build) command -v ninja >/dev/null || wanted+=("$package") ;;
      *) wanted+=("$package") ;;
    esac
  done
  install_packages "${wanted[@]}"
fi

ensure_venv() {
  [ -x .venv/bin/pip ] && return 0
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  say "creating .venv"
  python3 -m venv .venv
}

has_torch() { [ -n "$1" ] && [ -e "$1/include/ATen/ATen.h" ] && [ -e "$1/lib/libtorch.so" ]; }

python_torch() {
  "$1" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true
}

find_torch() {
  local dir
  for dir in "${GH_TORCH_DIR:-}" "${Torch_DIR:-}" "${Torch_DIR:+$Torch_DIR/../../..}"; do
    if has_torch "$dir"; then (cd "$dir" && pwd -P); return; fi
  done
  local prefixes
  IFS=':;' read -ra prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for dir in "${prefixes[@]}"; do
    if has_torch "$dir"; then (cd "$dir" && pwd -P); return; fi
  done
  dir=$(python_torch python3)
  if has_torch "$dir"; then echo "$dir"; return; fi
  if [ -x .venv/bin/python ]; then
    dir=$(python_torch .venv/bin/python)
    if has_torch "$dir"; then echo "$dir"; return; fi
  fi
}

torch_dir=$(find_torch)
if [ -z "$torch_dir" ]; then
  ensure_venv
  say "getting LibTorch $torch_version (the torch package) into .venv"
  .venv/bin/pip install --quiet --disable-pip-version-check ${GH_TORCH_INDEX:+--index-url "$GH_TORCH_INDEX"} \
    "torch==$torch_version" >&2
  torch_dir=$(find_torch)
  [ -n "$torch_dir" ] || { say "the torch package holds no LibTorch; give one with GH_TORCH_DIR"; exit 69; }
fi

case ${1:-} in --wheel | --test | --test-all)
  ensure_venv
  if ! .venv/bin/python -c "import wheel as w, sys; sys.exit(w.__version__ != '$wheel_version')" 2>/dev/null; then
    say "getting wheel $wheel_version into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "wheel==$wheel_version" >&2
  fi ;;
esac
if [ "${1:-}" = --test-all ] && command -v apt-get >/dev/null; then
  install_packages clang-14 libclang-rt-14-dev clang-tidy-14
  # What the libraries export, with its types, is held against an earlier release.
  install_packages abigail-tools
  # A Slurm that a test starts and stops.
  install_packages slurm-wlm munge
fi
if [ "${1:-}" = --test ] || [ "${1:-}" = --test-all ]; then
  # Reports are looked at in a real browser.
  if command -v apt-get >/dev/null && ! command -v chromium chromium-browser google-chrome >/dev/null; then
    install_packages chromium
  fi
  # Studies are handed to the engines there are: a small one, and Slurm with --test-all.
  if command -v apt-get >/dev/null && ! command -v parallel >/dev/null; then
    install_packages parallel
  fi
  # Shells that complete command lines.
  if command -v apt-get >/dev/null && ! { command -v zsh && command -v fish; } >/dev/null; then
    install_packages zsh fish
  fi
  if ! .venv/bin/clang-format --version 2>/dev/null | grep -q " $clang_format_version"; then
    say "getting clang-format $clang_format_version into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "clang-format==$clang_format_version" >&2
  fi
  if [ "$(.venv/bin/python -c 'import importlib.metadata as m; print(m.version("tensorboard"))' 2>/dev/null)" != $tensorboard_version ]; then
    say "getting TensorBoard $tensorboard_version into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "tensorboard==$tensorboard_version" >&2
  fi
  if ! .venv/bin/python -c "import safetensors as s, sys; sys.exit(s.__version__ != '$safetensors_version')" 2>/dev/null; then
    say "getting safetensors $safetensors_version into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "safetensors==$safetensors_version" >&2
  fi
  # Plugins are made packages of.
  if ! .venv/bin/python -c "import scikit_build_core as s, sys; sys.exit(s.__version__ != '$scikit_build_version')" 2>/dev/null; then
    say "getting scikit-build-core $scikit_build_version into .venv"
    .venv/bin/pip install --quiet --disable-pip-version-check "scikit-build-core==$scikit_build_version" >&2
  fi
fi

mkdir -p build
[ "$(cat build/torch-dir 2>/dev/null)" = "$torch_dir" ] || printf '%s\n' "$torch_dir" >build/torch-dir
