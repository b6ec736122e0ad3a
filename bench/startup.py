#!/usr/bin/env python3
"""Start of the program to the end of its first training step: ghhost against Python with PyTorch, the same step.

Both are timed as whole processes, interleaved, one thread each; the medians and their ratio are printed. ghhost also resolves
the recipe, checks and loads six plugins, and writes a run directory with a report.
"""
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
GHHOST = ROOT / "build/bin/ghhost"
ROUNDS = 9

PEER = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
x = torch.randn(128, 2)
net = torch.nn.Sequential(torch.nn.Linear(2, 20), torch.nn.ReLU(), torch.nn.Linear(20, 2))
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
z = torch.nn.functional.normalize(torch.cat([net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x))]))
s = (z @ z.T / 0.2).fill_diagonal_(float("-inf"))
torch.nn.functional.cross_entropy(s, (torch.arange(256) + 128) % 256).backward()
adam.step()
"""


def find_python():
    for candidate in ("python3", ROOT / ".venv/bin/python"):
        if shutil.which(candidate) and subprocess.run([candidate, "-c", "import torch"], capture_output=True).returncode == 0:
            return str(candidate)
    sys.exit("no Python with PyTorch is here to compare with")


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main():
    python = find_python()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(ROUNDS):
            # 128 samples in one batch: one epoch is one step.
            ours.append(seconds([GHHOST, "run", ROOT / "recipes/toy/r1-simclr.toml", "data.per_class=32", "train.epochs=1",
                                 "--out", f"{scratch}/{i}"]))
            theirs.append(seconds([python, "-c", PEER]))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"ghhost run, one step, report written   {a:.3f} s  (median of {ROUNDS})")
    print(f"python + torch, the same step          {b:.3f} s")
    print(f"ratio                                  {b / a:.1f}x  (bar: 2x)")


main()
