#!/usr/bin/env python3
"""NT-Xent of libghops beside PyTorch with the whole matrix, forwards and backwards, in turns within one process.

The peer computes as the published code of Geometric Harmonization does: a mask of all pairs made by a loop over samples, exponentials of
the 2B x 2B matrix, the negatives selected by the mask. A second peer gets the mask for nothing. Losses and gradients are compared
first, ours against the peer's in float64. A round is one step of each; ratios are medians of the rounds'. Bar: 4 times the peer at
512 samples of 128 dimensions. The exit code is 0 when it is met.

  bench/contrastive.py            times
  bench/contrastive.py --memory   and how much more memory the process needs at its peak, by the number of samples

The Python is GH_BENCH_PYTHON, else .venv's, and needs the torch that the library was built against.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from frame import BUILD, become_peer_python, build, in_turn

BAR = 4
TEMPERATURE = 0.2


class Operator:
    def __init__(self):
        import torch  # before the library, which finds LibTorch already loaded
        self.torch = torch
        self.library = ctypes.CDLL(str(BUILD / "lib/contrastive_bench.so"))
        self.library.contrastive_kernels.restype = ctypes.c_char_p

    def step(self, z1, z2, exponent=0.0):
        n, d = z1.shape
        out = self.torch.empty(n), self.torch.empty(n, d), self.torch.empty(n, d)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (z1, z2, *out)]
        if self.library.contrastive_step(*pointers[:2], ctypes.c_int64(n), ctypes.c_int64(d), ctypes.c_double(TEMPERATURE),
                                         ctypes.c_double(exponent), *pointers[2:]):
            sys.exit(1)
        return out


def mask_of(torch, n):
    """All pairs but a sample's own two views, made as the published code makes it."""
    mask = torch.ones((n, 2 * n), dtype=bool)
    for i in range(n):
        mask[i, i] = 0
        mask[i, i + n] = 0
    return torch.cat((mask, mask), 0)


def published(torch, z1, z2, exponent=0.0, mask=None):
    z1, z2 = z1.detach().requires_grad_(), z2.detach().requires_grad_()
    n = len(z1)
    a, b = torch.nn.functional.normalize(z1, dim=1), torch.nn.functional.normalize(z2, dim=1)
    rows = torch.cat([a, b])
    every = torch.exp(torch.mm(rows, rows.t().contiguous()) / TEMPERATURE)
    negatives = every.masked_select(mask_of(torch, n) if mask is None else mask).view(2 * n, -1).sum(dim=-1)
    positive = torch.exp(torch.sum(a * b, dim=-1) / TEMPERATURE)
    p = torch.cat([positive, positive])
    p = p / (p + negatives)
    losses = (-(1 - p) ** exponent * torch.log(p)).view(2, n).mean(0)
    losses.mean().backward()
    return losses.detach(), z1.grad, z2.grad


def views(torch, n, d):
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, d, generator=generator)
    return z, z + 0.7 * torch.randn(n, d, generator=generator)


def compare(torch, operator, z1, z2):
    for exponent in (0.0, 2.0):
        exact = published(torch, z1.double(), z2.double(), exponent)
        for name, found, expected in zip(("losses", "dz1", "dz2"), operator.step(z1, z2, exponent), exact):
            off = ((found.double() - expected).abs().max() / expected.abs().max()).item()
            print(f"  exponent {exponent:g}: {name} differ from float64 by {off:.1e} of the largest")
            if off > 1e-5:
                sys.exit("the results differ, so nothing is measured")


def seconds(work, clock=time.perf_counter):
    began = clock()
    work()
    return clock() - began


def measure(given):
    operator = Operator()
    torch = operator.torch
    torch.set_num_threads(given.threads)
    z1, z2 = views(torch, given.samples, given.width)
    print(f"{given.samples} × 2 × {given.width}, {given.threads} threads, {operator.library.contrastive_kernels().decode()}; "
          f"load average {os.getloadavg()[0]:.2f}")
    compare(torch, operator, z1, z2)
    mask = mask_of(torch, given.samples)
    clock = time.process_time if given.cpu else time.perf_counter
    times = in_turn(given.rounds, given.pause, ours=lambda _: seconds(lambda: operator.step(z1, z2), clock),
                    peer=lambda _: seconds(lambda: published(torch, z1, z2), clock),
                    masked=lambda _: seconds(lambda: published(torch, z1, z2, mask=mask), clock))
    ratios = {}
    for name, said in (("peer", "as published"), ("masked", "with the mask for nothing")):
        rounds = sorted(theirs / own for own, theirs in zip(times["ours"], times[name]))
        ratios[name] = statistics.median(rounds)
        print(f"  {said}: ours {1e3 * statistics.median(times['ours']):.2f} ms, theirs {1e3 * statistics.median(times[name]):.2f} ms, "
              f"fastest {1e3 * min(times['ours']):.2f} and {1e3 * min(times[name]):.2f}; ratio {ratios[name]:.2f} "
              f"(rounds {rounds[0]:.2f} … {rounds[-1]:.2f})", flush=True)
    print(f"  bar {BAR}: {'pass' if ratios['peer'] >= BAR else 'FAIL'}")
    return ratios["peer"] >= BAR


def status(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":")) / 1024


def peak(side, samples, width):
    """Prints the MB that one step adds to the peak of a fresh process."""
    operator = Operator()
    torch = operator.torch
    z1, z2 = views(torch, samples, width)
    small = views(torch, 32, width)
    step = operator.step if side == "ours" else lambda a, b: published(torch, a, b)
    step(*small)  # code, threads and pools of memory
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins here, not while torch was imported
    before = status("VmRSS")
    step(z1, z2)
    print(json.dumps(status("VmHWM") - before))


def memory(given):
    print("| samples | ours, MB | whole matrix, MB |\n|---|---|---|")
    for samples in (512, 1024, 2048, 4096, 8192):
        found = []
        for side in ("ours", "theirs"):
            if side == "theirs" and samples > given.largest_peer:
                found.append("–")
                continue
            command = [sys.executable, __file__, "--peak", side, str(samples), str(given.width)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{side} with {samples} samples failed:\n{done.stderr}")
            found.append(f"{json.loads(done.stdout):.0f}")
        print(f"| {samples} | {found[0]} | {found[1]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor, for one thread on a machine that others use")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between steps")
    parser.add_argument("--memory", action="store_true", help="peak memory, too")
    parser.add_argument("--largest-peer", type=int, default=4096, help="samples up to which the peer's memory is shown (default: 4096)")
    parser.add_argument("--no-build", action="store_true", help="take the library as it is")
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    become_peer_python("contrastive")
    if given.peak:
        return peak(given.peak[0], int(given.peak[1]), int(given.peak[2]))
    if not given.no_build:
        build("contrastive_bench")
    passed = measure(given)
    if given.memory:
        memory(given)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
