#!/usr/bin/env python3
"""Single 3x3 and 1x1 convolutions of libghops beside LibTorch's (oneDNN), all three passes, in turns within one process.

Backward passes include a forward one on both sides, as autograd needs it. Errors are against float64 and printed beside the
seconds. Bars, with --mode auto: no layer (three passes together) is slower than LibTorch by more than 3 %, and the largest error
is at most 4 times the largest of LibTorch on the same data; with --mode exact at most as large as LibTorch's. The exit code is 0
when they are met. A layer that misses is measured again, up to twice, as neighbours on the machine disturb short measurements.

  bench/convolution.py                shapes of ResNets, both layouts (about five minutes)
  bench/convolution.py --sweep        many more, small and odd ones
  bench/convolution.py --mode exact   F(2x2)
"""
import argparse
import itertools
import os
import statistics
import sys

from frame import BOUND, BUILD, Program, build

LAYOUTS = ["channels-last", "contiguous"]
PASSES = ["forward", "data", "weights"]
NAMES = ["LibTorch", "F(2x2)", "F(4x4)", "stride 2", "1x1"]

# Images, channels in and out, size, kernel, stride.
RESNETS = [(n, w << s, w << s, 32 >> s, 3, 1) for w in (64, 16) for n in (64, 128) for s in range(4)] + \
    [(n, w << s, w << (s + 1), 32 >> s, 3, 2) for w in (64, 16) for n in (64, 128) for s in range(3)] + \
    [(8, 64 << s, 64 << s, 56 >> s, 3, 1) for s in range(4)] + [(8, 128 << s, 128 << s, 56 >> s, 3, 2) for s in range(3)] + \
    [(64, 3, 64, 32, 3, 1), (64, 3, 16, 32, 3, 1)] + \
    [(64, w << s, w << (s + 1), 32 >> s, 1, 2) for w in (64, 16) for s in range(3)] + \
    [(8, 64, 64, 56, 1, 1)] + [(8, 256 << s, 64 << s, 56 >> s, 1, 1) for s in range(4)] + \
    [(8, 64 << s, 256 << s, 56 >> s, 1, 1) for s in range(4)] + \
    [(8, 256 << s, 128 << s, 56 >> s, 1, 1) for s in range(3)] + [(8, 256 << s, 512 << s, 56 >> s, 1, 2) for s in range(3)]
SWEEP = [(n, c, k, size, kernel, stride) for n, (c, k), size, kernel, stride in itertools.product(
    (1, 4, 32), ((8, 8), (16, 16), (24, 40), (32, 64), (64, 32), (128, 128), (512, 512)), (2, 4, 7, 14, 28, 56), (3, 1), (1, 2))
    if n * c * k * size * size < 1 << 31] + \
    [(n, c, k, size, 1, stride) for c, k in ((1024, 512), (4096, 128), (128, 4096), (768, 768), (1000, 600), (512, 2048), (2048, 512))
     for n, size, stride in ((8, 4, 1), (1, 14, 1), (8, 7, 1), (8, 14, 1), (8, 14, 2), (8, 16, 1))]


def measure(shapes, given):
    program = Program(BUILD / "bin/convolution_bench", given.threads, given.mode, given.rounds, **BOUND)
    for n, c, k, size, kernel, stride, layout in shapes:
        yield program.ask(f"{n} {c} {k} {size} {size} {kernel} {stride} {layout}")
    program.close()


def ratio(result, passes):
    """How many times as fast we are: the median over rounds."""
    rounds = zip(*(zip(result["theirs"][p], result["ours"][p]) for p in passes))
    return statistics.median(sum(t for t, _ in r) / sum(o for _, o in r) for r in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["auto", "fast", "exact"], default="auto")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-build", action="store_true", help="take the program as it is")
    given = parser.parse_args()
    if not given.no_build:
        build("convolution_bench")
    shapes = [(*shape, layout) for shape in (SWEEP if given.sweep else RESNETS) for layout in LAYOUTS]
    print(f"load average {os.getloadavg()[0]:.2f} at the start\n")
    print(f"{'images':>6} {'in':>4} {'out':>4} {'size':>4} {'kernel':>6} {'stride':>6} {'layout':14} {'algorithm':9}"
          f"{'forward':>8} {'data':>6} {'weights':>7} {'all':>6}   errors, ours and LibTorch's, worst pass", flush=True)
    slow, wrong, worst = [], [], 0
    for shape, result in zip(shapes, measure(shapes, given), strict=True):
        own = result["algorithm"] != 0
        for _ in range(2):
            if not own or ratio(result, PASSES) >= 1 / 1.03:
                break
            result = next(measure([shape], given))
        n, c, k, size, kernel, stride, layout = shape
        ours, theirs = (max(result["errors"][p][i] for p in PASSES) for i in range(2))
        print(f"{n:6} {c:4} {k:4} {size:4} {kernel:6} {stride:6} {layout:14} {NAMES[result['algorithm']]:9}"
              + "".join(f"{ratio(result, [p]):7.2f}" for p in PASSES) + f"{ratio(result, PASSES):7.2f}"
              + f"   {ours:.1e} {theirs:.1e}", flush=True)
        if own and ratio(result, PASSES) < 1 / 1.03:
            slow.append(shape)
        if own:
            worst = max(worst, ours / theirs)
            if ours > theirs * (1 if given.mode == "exact" else 4):
                wrong.append(shape)
    print(f"\nlargest error, in those of LibTorch on the same data: {worst:.2f}")
    for what, missed in (("slower than LibTorch by more than 3 %", slow), ("error above the bar", wrong)):
        print(f"{'MISSED' if missed else 'met':7} {what}: {missed or 'none'}")
    return 1 if wrong or (slow and given.mode == "auto") else 0


if __name__ == "__main__":
    sys.exit(main())
