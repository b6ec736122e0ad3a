#!/usr/bin/env bash
# Builds everything against a CUDA build of LibTorch on a machine that needs no GPU, and runs what can run without one.
# From nothing: LibTorch and the CUDA compiler come from the Python package index into an environment of their own, and neither
# build/ nor .venv is touched.
#   scripts/cuda_check.sh
# Variables: JOBS (compilers at once), GH_TORCH_INDEX (another package index), GH_CUDA_VENV (.cache/cuda-venv), GH_CUDA_BUILD (build-cuda).
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=2.15.0
toolkit_version=13.2.2
venv=${GH_CUDA_VENV:-.cache/cuda-venv}
build=${GH_CUDA_BUILD:-build-cuda}
jobs=${JOBS:-$(nproc)}

say() { printf 'cuda-check: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }

# need_space <directory> <GiB> <what for>
need_space() {
  local free_gib
  free_gib=$(($(df --output=avail -k "$1" | tail -1) / 1024 / 1024))
  [ "$free_gib" -ge "$2" ] || stop "$3 needs $2 GiB in $(realpath "$1"), and $free_gib GiB are free. Nothing was downloaded or built."
}

site() { "$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

complete() {
  [ -x "$venv/bin/python" ] && "$venv/bin/python" - "$torch_version" "$toolkit_version" <<'PYTHON'
import importlib.metadata as m, sys
try:
    found = m.version("torch").split("+")[0], m.version("cuda-toolkit")
    for name in ("nvidia-cuda-nvcc", "cmake", "ninja"):
        m.version(name)
except m.PackageNotFoundError:
    sys.exit(1)
sys.exit(found != (sys.argv[1], sys.argv[2]))
PYTHON
}

get_toolchain() {
  complete && return 0
  mkdir -p "$(dirname "$venv")"
  need_space "$(dirname "$venv")" 10 "A CUDA LibTorch and compiler (5 GB to download, 7 GB with the build)"
  python3 -c 'import ensurepip, venv' 2>/dev/null || stop "python3 has no venv module; on Debian: apt-get install python3-venv"
  say "getting torch $torch_version (CUDA) and the CUDA $toolkit_version compiler into $venv: 5 GB"
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  # cmake: CMake before 4 does not know the flags of this nvcc.
  "$venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check ${GH_TORCH_INDEX:+--index-url "$GH_TORCH_INDEX"} \
    "torch==$torch_version" "cuda-toolkit[nvcc,cccl,crt,nvvm]==$toolkit_version" 'cmake>=4,<5' ninja >&2
  complete || stop "the packages were installed, and are not all there; remove $venv and try again"
}

# The packages hold libraries with a version in their names only, and no lib64; compilers and CMake look for the plain ones.
link_libraries() {
  local directory=$1 library plain
  ln -sfn lib "$directory/lib64"
  for library in "$directory"/lib/lib*.so.*; do
    plain=${library%%.so.*}.so
    [ -e "$plain" ] || ln -s "$(basename "$library")" "$plain"
  done
}

run() {
  say "\$ $(basename "$1") ${*:2}"
  "$@"
}

# registers <architecture>: the block kernel of Sinkhorn lives in registers; one that spills, or asks for more than an SM has, is wrong.
registers() {
  local report
  report=$("$CUDACXX" -std=c++20 -O3 "-arch=$1" -Xptxas -v -c sdk/ops/cuda/sinkhorn.cu -o /dev/null 2>&1) || stop "$report"
  awk -v architecture="$1" '
    /Compiling entry function/ { block = /sinkhorn_block/ }
    block && /bytes spill stores/ { kernels++; if ($5 + $9 > 0) bad = bad "\n" $0 }
    block && /Used [0-9]+ registers/ { if ($5 > most) most = $5 }
    END {
      printf "cuda-check: %s: %d block kernels, %d of %d registers, %s\n", architecture, kernels, 512 * most, 65536,
        bad == "" ? "nothing spilled" : "spills:" bad > "/dev/stderr"
      exit !(kernels > 0 && bad == "" && most > 0 && 512 * most <= 65536)
    }' <<<"$report" || stop "Sinkhorn's block kernel does not fit $1"
}

command -v g++ >/dev/null || stop "no g++; scripts/setup.sh installs what the build needs"
get_toolchain
packages=$(site)
torch=$packages/torch
[ -e "$torch/lib/libtorch_cuda.so" ] || stop "the torch in $venv is no CUDA build; remove $venv and try without GH_TORCH_INDEX"
export CUDA_HOME=$packages/nvidia/cu${toolkit_version%%.*}
export CUDACXX=$CUDA_HOME/bin/nvcc TORCH_CUDA_ARCH_LIST=8.0
link_libraries "$CUDA_HOME"

for architecture in sm_80 sm_90; do registers "$architecture"; done

mkdir -p "$build"
need_space "$build" 2 "The build"
say "$("$CUDACXX" --version | grep release), $("$venv/bin/cmake" --version | head -1)"
"$venv/bin/cmake" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$(realpath "$venv")/bin/ninja" -DGH_TORCH_DIR="$torch" \
  -DGH_WERROR=ON -DBUILD_TESTING=OFF >&2
"$venv/bin/cmake" --build "$build" -j "$jobs" --target product >&2

ghhost=$build/bin/ghhost
# Captured first: grep -q ends a pipe early, which the writer would report as a failure.
linked=$(readelf -d "$ghhost")
grep -q 'NEEDED.*libtorch_cuda' <<<"$linked" || stop "ghhost was linked without libtorch_cuda"
needed=$(ldd "$ghhost")
grep -q 'libtorch_cuda.so => /' <<<"$needed" || stop "libtorch_cuda is not found at run time"
! grep 'not found' <<<"$needed" >&2 || stop "libraries of ghhost are missing at run time"
symbols=$(nm -C "$build/lib/libghops.so")
grep -q 'sinkhorn_on_cuda' <<<"$symbols" && grep -q 'kmeans_on_cuda' <<<"$symbols" || stop "libghops was built without its CUDA kernels"
run "$ghhost" version
grep -q cuda <<<"$("$ghhost" version)" || stop "ghhost version does not say that this is a CUDA build"
run "$ghhost" check recipes/toy.toml

runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
run "$ghhost" run recipes/toy.toml train.epochs=2 harmonize.warm_up=1 --out "$runs/cpu"
devices=$("$venv/bin/python" -c 'import torch; print(torch.cuda.device_count())' 2>/dev/null)
error_shown="not tried here, there is a GPU: the error where there is none."
if [ "$devices" = 0 ]; then
  error_shown="asking for a GPU that is not there is a clear error."
  status=0
  message=$(run "$ghhost" run recipes/toy.toml train.epochs=2 harmonize.warm_up=1 'train.device="cuda"' --out "$runs/cuda" 2>&1) || status=$?
  printf '%s\n' "$message" >&2
  [ "$status" -ne 0 ] || stop "train.device=\"cuda\" was accepted without a GPU"
  grep -qi 'no .*\(GPU\|CUDA\)\|\(GPU\|CUDA\).* \(not\|no\) ' <<<"$message" || stop "the error about the missing GPU does not say so"
fi

cat >&2 <<SUMMARY
cuda-check: passed.
cuda-check: proved: everything compiles without a warning and links against LibTorch $torch_version for CUDA $toolkit_version; Sinkhorn's
cuda-check:         block kernel spills no register; the CUDA libraries load; the CPU path of that build trains and reports; $error_shown
cuda-check: not proved: anything that runs on a GPU (results, speed, memory, NCCL), since none was used.
SUMMARY
