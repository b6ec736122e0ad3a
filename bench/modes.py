#!/usr/bin/env python3
"""What train.convolution does to learning: short runs on CIFAR-100-LT with several seeds, the same but for the convolutions.

For every seed and mode `ghhost run` trains the narrow recipe; the losses are from metrics.jsonl. Exported encoders are then judged
by a nearest-neighbour classifier on the 10 000 test images (cosine, k = 20, neighbours from the long-tailed training set weighted
by exp(cosine / 0.1)), written in PyTorch. Printed are all values and the differences from onednn with the same seed, beside what
another seed changes. There is no bar: this is what docs/training.md's choice of "auto" rests on.

  bench/modes.py --data DIR [--epochs 5] [--seeds 3] [--modes onednn auto exact]

DIR holds the binary version of CIFAR-100, unpacked; GH_CIFAR100 names it as well.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
GHHOST = ROOT / "build/bin/ghhost"
RECIPE = ROOT / "recipes/cifar100-lt/simclr-narrow.toml"
PYTHON = ROOT / ".venv/bin/python"
WIDTH = 16


def read_cifar(file):
    import torch
    raw = torch.frombuffer(bytearray(pathlib.Path(file).read_bytes()), dtype=torch.uint8).view(-1, 3074)
    return raw[:, 1].long(), raw[:, 2:].view(-1, 3, 32, 32)


def neighbours(weights, data):
    """Accuracy of the nearest-neighbour classifier, in per cent: all classes, then the many, medium and few third."""
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file
    sys.path.insert(0, str(ROOT / "tests/integration"))
    from plain_resnet import ResNet18
    network = ResNet18(WIDTH)
    state = {name.removeprefix("encoder."): t for name, t in load_file(weights).items()}
    network.load_state_dict(state)
    network.eval()

    @torch.no_grad()
    def features(images):
        return torch.cat([F.normalize(network(part.float() / 255)) for part in images.split(500)])

    labels, images = read_cifar(data / "train.bin")
    counts = [int(500 * 0.01 ** (c / 99)) for c in range(100)]
    kept = torch.cat([(labels == c).nonzero().flatten()[:n] for c, n in enumerate(counts)])
    bank, bank_labels = features(images[kept]), labels[kept]
    test_labels, test_images = read_cifar(data / "test.bin")
    similarity, index = (features(test_images) @ bank.t()).topk(20)
    votes = torch.zeros(len(test_labels), 100).scatter_add_(1, bank_labels[index], (similarity / 0.1).exp())
    right = (votes.argmax(1) == test_labels).double()
    groups = [test_labels >= 0, test_labels < 34, (test_labels >= 34) & (test_labels < 67), test_labels >= 67]
    return [100 * right[group].mean().item() for group in groups]


def train(seed, mode, given, place):
    out = place / f"{mode}-{seed}"
    subprocess.run([GHHOST, "run", RECIPE, "--out", out, f"data.root='{given.data}'", f"seed={seed}", f"train.convolution='{mode}'",
                    f"train.epochs={given.epochs}", "train.batch=128", "train.optimizer.lr=0.125", "train.schedule.warm_up=1"],
                   check=True, stdout=subprocess.DEVNULL)
    losses = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in losses if "loss" in entry]
    subprocess.run([GHHOST, "export", out, "--out", out / "encoder.safetensors"], check=True, stdout=subprocess.DEVNULL)
    judged = subprocess.run([PYTHON, __file__, "--judge", out / "encoder.safetensors", given.data], check=True, capture_output=True, text=True)
    return losses, json.loads(judged.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("GH_CIFAR100"))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--modes", nargs="+", default=["onednn", "auto", "exact"])
    parser.add_argument("--judge", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.judge:
        return print(json.dumps(neighbours(given.judge[0], pathlib.Path(given.judge[1]))))
    if not given.data or not (pathlib.Path(given.data) / "train.bin").exists():
        sys.exit("give the directory of CIFAR-100's train.bin and test.bin with --data or GH_CIFAR100")
    results = {}
    print(f"{'seed':>4} {'mode':7} {'loss of each epoch':40} {'kNN %: all':>10} {'many':>6} {'medium':>6} {'few':>6}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gh-modes-") as place:
        for seed in range(given.seeds):
            for mode in given.modes:
                losses, accuracy = results[seed, mode] = train(seed, mode, given, pathlib.Path(place))
                print(f"{seed:4} {mode:7} {' '.join(f'{x:.4f}' for x in losses):40} {accuracy[0]:10.2f} "
                      + " ".join(f"{a:6.2f}" for a in accuracy[1:]), flush=True)
    for mode in given.modes:
        last = [results[seed, mode][0][-1] for seed in range(given.seeds)]
        knn = [results[seed, mode][1][0] for seed in range(given.seeds)]
        apart = [a - results[seed, given.modes[0]][1][0] for seed, a in enumerate(knn)]
        print(f"{mode:7} last loss {statistics.mean(last):.4f} ± {statistics.stdev(last):.4f}, kNN {statistics.mean(knn):.2f} ± "
              f"{statistics.stdev(knn):.2f} %, from {given.modes[0]} {statistics.mean(apart):+.2f} ({min(apart):+.2f} … {max(apart):+.2f})")


if __name__ == "__main__":
    sys.exit(main())
