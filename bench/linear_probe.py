#!/usr/bin/env python3
"""Linear probes of libghops against plain PyTorch and scikit-learn: the same features, batches, epochs and threads, float32.

Features are those of CIFAR-100 through a fixed random encoder: 400 whitened 6 × 6 patches as filters, ReLU, means of four quarters,
a random projection to 512 and ReLU. Without the pictures they are clusters, and are said to be. Parts:

  speed     seconds of an epoch of the gh protocol (Adam, batches of 1000), in turns with the peer; bar 1.8
  seeds     accuracy after 60 epochs, mean over seeds; may differ by 0.2 points
  full      500 epochs of both and the fast protocol in turns, three seeds. Fast may take a 20th of the peer's time and its mean differ
            from both by 0.3 points. The logistic protocol is shown beside, without a bar: it ends elsewhere
  sklearn   the logistic protocol and LogisticRegression with the same l2 on 20,000 rows; may differ by 0.3 points

  bench/linear_probe.py --cifar DIR         all of it; DIR holds train.bin and test.bin of cifar-100-binary
  bench/linear_probe.py --only speed seeds  some of it

The exit code is 0 when all bars are met. Close other programs. The peers' Python is GH_BENCH_PYTHON, else .venv's, and needs torch
and numpy; without scikit-learn its part is skipped.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from frame import BUILD, Program, become_peer_python, build

WIDTH, CLASSES, BATCH, L2 = 512, 100, 1000, 5e-6
PARTS = ["speed", "seeds", "full", "sklearn"]


def read_pictures(file):
    import numpy as np
    import torch
    raw = np.fromfile(file, np.uint8).reshape(-1, 2 + 3 * 32 * 32)
    return torch.from_numpy(raw[:, 2:].reshape(-1, 3, 32, 32).copy()), torch.from_numpy(raw[:, 1].astype(np.int64))


def random_filters(pictures, count, generator):
    """Patches of the pictures, whitened and of unit length, as 6 × 6 filters on plain pixels with a threshold of 1."""
    import torch
    patches = 20_000
    which = torch.randint(len(pictures), (patches,), generator=generator)
    corner = torch.randint(27, (2, patches), generator=generator)
    side = torch.arange(6)
    rows, columns = (corner[0][:, None] + side)[:, None, :, None], (corner[1][:, None] + side)[:, None, None, :]
    cut = pictures[which[:, None, None, None], torch.arange(3)[None, :, None, None], rows, columns]
    cut = cut.flatten(1).float() / 255
    mean = cut.mean(0)
    values, vectors = torch.linalg.eigh((cut - mean).T @ (cut - mean) / patches)
    white = vectors @ torch.diag((values + 1e-2).rsqrt()) @ vectors.T
    filters = (cut[:count] - mean) @ white
    filters = filters / filters.norm(dim=1, keepdim=True) @ white
    return filters.reshape(count, 3, 6, 6), -(filters @ mean) - 1


def encoded(folder, count=400):
    import torch
    from torch.nn import functional
    (train, y), (test, y_test) = read_pictures(folder / "train.bin"), read_pictures(folder / "test.bin")
    generator = torch.Generator().manual_seed(0)
    filters, bias = random_filters(train, count, generator)
    projection = torch.randn(4 * count, WIDTH, generator=generator) / (4 * count) ** 0.5

    def respond(pictures):
        responses = [functional.conv2d(some.float() / 255, filters, bias, stride=2).relu() for some in pictures.split(500)]
        return torch.cat([functional.adaptive_avg_pool2d(some, 2).flatten(1) for some in responses])

    x, x_test = respond(train), respond(test)
    mean = x.mean(0)
    x, x_test = (x - mean) @ projection, (x_test - mean) @ projection
    scale = x.std()
    return (x / scale).relu(), y, (x_test / scale).relu(), y_test


def clusters():
    import torch
    generator = torch.Generator().manual_seed(0)
    middles = torch.randn(CLASSES, WIDTH, generator=generator)
    mixing = torch.randn(WIDTH, WIDTH, generator=generator) * torch.logspace(1, -0.5, WIDTH) / WIDTH**0.5

    def draw(rows):
        y = torch.arange(rows) % CLASSES
        return (0.35 * middles[y] + torch.randn(rows, WIDTH, generator=generator) @ mixing).relu(), y

    return *draw(50_000), *draw(10_000)


class Ours(Program):
    def __init__(self, data, threads, folder):
        x, y, x_test, y_test = data
        files = []
        for i, tensor in enumerate(data):
            files.append(folder / str(i))
            tensor.contiguous().numpy().tofile(files[-1])
        sizes = [len(x), len(x_test), x.shape[1], CLASSES]
        super().__init__(BUILD / "bin/linear_probe_bench", threads, *sizes, *files)


def peer(data, epochs, seed):
    """The protocol as one would write it down."""
    import torch
    x, y, x_test, y_test = data
    torch.manual_seed(seed)
    layer, loss = torch.nn.Linear(x.shape[1], CLASSES), torch.nn.CrossEntropyLoss()
    adam = torch.optim.Adam(layer.parameters(), lr=1e-2, weight_decay=L2)
    decay = torch.optim.lr_scheduler.ExponentialLR(adam, 1e-4 ** (1 / epochs))
    began = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for first in range(0, len(x), BATCH):
            rows = order[first:first + BATCH]
            adam.zero_grad()
            loss(layer(x[rows]), y[rows]).backward()
            adam.step()
        decay.step()
    seconds = time.perf_counter() - began
    with torch.no_grad():
        return {"seconds": seconds, "accuracy": 100 * (layer(x_test).argmax(1) == y_test).double().mean().item()}


class Report:
    def __init__(self):
        self.rows = []

    def add(self, part, text, passed, **numbers):
        self.rows.append({"part": part, "passed": bool(passed), **numbers})
        print(f"  {part:<8} {text}: {'pass' if passed else 'FAIL'}", flush=True)


def speed(data, ours, report, arguments):
    epochs, times = 5, {"ours": [], "theirs": []}
    for i in range(arguments.rounds):
        times["ours"].append(ours.ask("train", epochs, i)["seconds"] / epochs)
        times["theirs"].append(peer(data, epochs, i)["seconds"] / epochs)
    ratios = [theirs / own for own, theirs in zip(times["ours"], times["theirs"])]
    own, theirs, ratio = (statistics.median(v) for v in (times["ours"], times["theirs"], ratios))
    report.add("speed", f"an epoch in {1e3 * own:.1f} ms, theirs {1e3 * theirs:.1f} ms, ratio {ratio:.2f} (rounds {min(ratios):.2f} … "
               f"{max(ratios):.2f}), bar 1.8", ratio >= 1.8, ours=own, theirs=theirs, ratio=ratio)


def seeds(data, ours, report, arguments):
    epochs, count = 60, 3
    own = [ours.ask("train", epochs, seed)["accuracy"] for seed in range(count)]
    theirs = [peer(data, epochs, seed)["accuracy"] for seed in range(count)]
    apart = statistics.mean(own) - statistics.mean(theirs)
    report.add("seeds", f"{epochs} epochs, {count} seeds: {statistics.mean(own):.2f} ({', '.join(f'{a:.2f}' for a in own)}), theirs "
               f"{statistics.mean(theirs):.2f} ({', '.join(f'{a:.2f}' for a in theirs)}), apart {apart:+.2f}, bar 0.2",
               abs(apart) <= 0.2, ours=own, theirs=theirs)


def full(data, ours, report, arguments):
    count, theirs, own, fast = 3, [], [], []
    for seed in range(count):
        theirs.append(peer(data, 500, seed))
        fast.append(ours.ask("fast", seed))
        own.append(ours.ask("train", 500, seed))

    def mean(runs):
        return statistics.mean(run["accuracy"] for run in runs)

    def told(runs):
        accuracies = ", ".join(f"{run['accuracy']:.2f}" for run in runs)
        return f"{mean(runs):.2f} % ({accuracies}) in {statistics.median(run['seconds'] for run in runs):.2f} s"

    apart = mean(own) - mean(theirs)
    report.add("full", f"500 epochs, {count} seeds: {told(own)}, theirs {told(theirs)}, apart {apart:+.2f}, bar 0.2",
               abs(apart) <= 0.2, ours=own, theirs=theirs)
    ratios = [peers["seconds"] / run["seconds"] for peers, run in zip(theirs, fast)]
    ratio, apart = statistics.median(ratios), (mean(fast) - mean(theirs), mean(fast) - mean(own))
    report.add("full", f"fast, {fast[0]['epochs']} epochs, {count} seeds: {told(fast)}; peer's 500 epochs {ratio:.1f}-fold ({min(ratios):.1f} … "
               f"{max(ratios):.1f}), apart {apart[0]:+.2f}, from our gh {apart[1]:+.2f}, bars 20 and 0.3",
               ratio >= 20 and max(map(abs, apart)) <= 0.3, ours=fast, ratio=ratio, apart=apart)
    for name, l2 in (("chosen", 0), ("as gh", L2)):
        fit = ours.ask("fit", l2)
        print(f"  {'full':<8} logistic, l2 {name} ({fit['l2']:.2g}): {fit['accuracy']:.2f} % in {fit['seconds']:.2f} s, {fit['passes']} passes, "
              f"apart {fit['accuracy'] - mean(theirs):+.2f}", flush=True)


def sklearn(data, ours, report, arguments):
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        print("  sklearn  SKIPPED: scikit-learn is not installed for this Python")
        return
    rows, l2 = 20_000, 1e-3
    x, y, x_test, y_test = data
    x, y = x[:rows].contiguous(), y[:rows].contiguous()
    with tempfile.TemporaryDirectory(prefix="gh-linear-") as folder:
        some = Ours((x, y, x_test, y_test), arguments.threads, pathlib.Path(folder))
        own = some.ask("fit", l2)
        some.close()
    regression = LogisticRegression(C=1 / (l2 * rows), max_iter=1000)
    began = time.perf_counter()
    regression.fit(x.numpy(), y.numpy())
    seconds = time.perf_counter() - began
    theirs = 100 * regression.score(x_test.numpy(), y_test.numpy())
    apart = own["accuracy"] - theirs
    report.add("sklearn", f"{rows} rows, l2 {l2:g}: {own['accuracy']:.2f} % in {own['seconds']:.2f} s ({own['passes']} passes), scikit-learn "
               f"{theirs:.2f} % in {seconds:.1f} s ({regression.n_iter_[0]} iterations), apart {apart:+.2f}, bar 0.3",
               abs(apart) <= 0.3, ours=own, theirs={"accuracy": theirs, "seconds": seconds})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar", type=pathlib.Path, metavar="DIR", help="with train.bin and test.bin of CIFAR-100")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="how often an epoch's speed is measured (default: 7)")
    parser.add_argument("--threads", type=int, default=2, help="of each side (default: 2)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the numbers there, too")
    arguments = parser.parse_args()
    become_peer_python("linear_probe")
    build("linear_probe_bench")
    import torch
    torch.set_num_threads(arguments.threads)
    real = arguments.cifar is not None and (arguments.cifar / "train.bin").exists()
    with torch.no_grad():
        data = encoded(arguments.cifar) if real else clusters()
    print(f"{'CIFAR-100 through a random encoder' if real else 'SYNTHETIC clusters, as there are no pictures'}: {len(data[0])} × {WIDTH}, "
          f"{CLASSES} classes; torch {torch.__version__}, {arguments.threads} threads, load average {os.getloadavg()[0]:.2f}", flush=True)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="gh-linear-") as folder:
        ours = Ours(data, arguments.threads, pathlib.Path(folder))
        for part in arguments.only:
            globals()[part](data, ours, report, arguments)
        ours.close()
    if arguments.json:
        arguments.json.write_text(json.dumps(report.rows, indent=1) + "\n")
    return 0 if all(row["passed"] for row in report.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
