#!/usr/bin/env python3
"""What Geometric Harmonization costs beside a training step, and its bookkeeping beside a loop over samples in PyTorch.

Bookkeeping is the momentum table of CIFAR-100-LT (10,847 samples, 100 points, batches of 512) and the prior. The peer updates
one row after the other, as the published training loop does, and counts the prior from the whole table in epochs that refresh
it. Tables and priors are compared first. The cost of GH is loss, allocation, gradients and bookkeeping of a batch over the step
of a ResNet-18 under SimCLR on as many samples. Both sides take turns. Bars: bookkeeping at least 100 times as fast, GH at most
1 % of a step. The exit code is 0 when they are met.

  bench/harmonize.py                about a minute
  bench/harmonize.py --batch 128    the step on larger batches
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

from frame import BOUND, BUILD, ROOT, Program, build

PYTHON = ROOT / ".venv/bin/python"
SAMPLES, BATCH, POINTS, WIDTH = 10847, 512, 100, 128
BATCHES = SAMPLES // BATCH
BAR_BOOKKEEPING, BAR_STEP = 100, 0.01
sys.path.insert(0, str(ROOT / "bench"))


class Side(Program):
    """A program that says when it is ready, bound to cores."""

    def __init__(self, *command):
        super().__init__(*command, **BOUND)
        self.answer()

    def seconds(self, text):
        return self.ask(text)["seconds"]


class Loop:
    """The bookkeeping of the published loop, from its description: one sample after the other."""

    def __init__(self, file, torch, read):
        self.torch, content = torch, read(file)
        self.logits, self.order = content["logits"], content["order"]
        self.table = torch.zeros(SAMPLES, POINTS)
        self.prior = torch.full((POINTS,), 1 / POINTS, dtype=torch.float64)

    def track(self, batches, epoch):
        torch = self.torch
        beta = 0.9 if epoch < 1 else 0.999
        refresh = epoch + 1 >= 1 and ((epoch + 1) % 20 == 0 or epoch + 1 == 1)
        started = time.perf_counter()
        for i in range(batches):
            start = i * BATCH % (SAMPLES - BATCH + 1)
            logits, indices = self.logits[start:start + BATCH], self.order[start:start + BATCH]
            for row, sample in enumerate(indices):
                if epoch == 0:
                    self.table[sample] = logits[row]
                else:
                    self.table[sample] = beta * self.table[sample] + (1 - beta) * logits[row]
            if refresh:
                seen = self.table.abs().sum(1) > 0
                counts = torch.bincount(self.table[seen].argmax(1), minlength=POINTS)
                self.prior = counts.double() / counts.sum()
        return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=64, help="samples of the training step")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    given = parser.parse_args()
    if sys.executable != str(PYTHON) and PYTHON.exists():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    import torch
    from step import read_safetensors
    torch.set_num_threads(given.threads)
    if not given.no_build:
        targets = ["harmonize_bench", "step_bench", "resnet", "simclr", "sinkhorn", "etf"]
        build(*targets)
    print(f"load average {os.getloadavg()[0]:.2f} at the start\n")

    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        ours = Side(BUILD / "bin/harmonize_bench", directory / "ours", given.threads, SAMPLES, BATCH, POINTS, WIDTH)
        loop = Loop(directory / "ours", torch, read_safetensors)
        for epoch in (0, 1, 19):
            ours.seconds(f"track {BATCHES} {epoch}")
            loop.track(BATCHES, epoch)
            found = read_safetensors(directory / "ours.out")
            difference = (found["table"] - loop.table).abs().max().item()
            if difference > 2e-6 or not torch.equal(found["prior"], loop.prior):
                sys.exit(f"epoch {epoch}: tables differ by {difference}, or priors do")
        print("tables within 2e-6 of each other, priors equal\n")
        good = True
        for name, epoch in (("bookkeeping, most epochs", 1), ("bookkeeping, epochs that refresh the prior", 19)):
            rounds = []
            for _ in range(given.rounds):
                mine = ours.seconds(f"track {10 * BATCHES} {epoch}") / 10
                rounds.append((mine / BATCHES, loop.track(BATCHES, epoch) / BATCHES))
            ratios = sorted(theirs / mine for mine, theirs in rounds)
            good = good and statistics.median(ratios) >= BAR_BOOKKEEPING
            print(f"{name}: {1e3 * statistics.median(m for m, _ in rounds):.4f} ms a batch, loop "
                  f"{1e3 * statistics.median(t for _, t in rounds):.2f} ms, ratio {statistics.median(ratios):.0f} "
                  f"({ratios[0]:.0f} … {ratios[-1]:.0f}), bar {BAR_BOOKKEEPING}")

        term = Side(BUILD / "bin/harmonize_bench", directory / "term", given.threads, SAMPLES, given.batch, POINTS, WIDTH)
        step = Side(BUILD / "bin/step_bench", directory / "step", "channels-last", given.threads, "resnet18", 64, 32, 1e-4,
                       given.batch, "auto")
        term.seconds("term 20"), step.seconds("1")
        rounds = [(term.seconds("term 50") / 50, step.seconds("2") / 2) for _ in range(given.rounds)]
        shares = sorted(gh / whole for gh, whole in rounds)
        good = good and statistics.median(shares) <= BAR_STEP
        print(f"GH on {given.batch} samples: {1e3 * statistics.median(g for g, _ in rounds):.2f} ms beside a step of "
              f"{1e3 * statistics.median(s for _, s in rounds):.0f} ms: {100 * statistics.median(shares):.2f} % "
              f"({100 * shares[0]:.2f} … {100 * shares[-1]:.2f}), bar {100 * BAR_STEP:.0f} %")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
