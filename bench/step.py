#!/usr/bin/env python3
"""A training step of a ResNet under SimCLR on the CPU: ghhost against PyTorch, the same LibTorch beneath both.

Network, loss and optimiser are written plainly in PyTorch, start from the weights ghhost wrote and see its batches. The losses
of the first steps are compared; if they differ, nothing is measured. Then the programs take turns, one step each or --steps of
them, in both memory layouts, PyTorch once as it is installed and once with ghhost's allocator, threads bound to cores on all
sides. Medians of the rounds are printed, and the median and range of the ratios within each round. Bars are for each side in the
layout it is faster in; the exit code is 0 when they are met. Only ratios of one run count: close other programs.

  bench/step.py                                          ResNet-18, width 64, batch 64, 2 threads (about three minutes)
  bench/step.py --width 16 --rounds 9 --steps 10         another network; its steps are so short that taking turns would show
  bench/step.py --network resnet50 --size 224 --batch 8  pictures of 224 pixels, the large stem
  bench/step.py --convolution onednn                     ghhost without its own convolutions
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from frame import BOUND, BUILD, ROOT, Program, build

PYTHON = ROOT / ".venv/bin/python"
ALLOCATOR = BUILD / "lib/step_allocator.so"
TARGETS = ["step_bench", "step_allocator", "resnet", "simclr"]
LAYOUTS = ["contiguous", "channels-last"]
SIDES = ["ghhost", "torch", "torch + allocator"]
# Against PyTorch with ghhost's allocator: (network, width) → ratio; "onednn" without convolutions of our own.
BARS = {("resnet18", 64): 2.0, ("resnet18", 16): 1.6, ("resnet50", 64): 1.3}
BARS_ONEDNN = {"torch + allocator": 1.05, "torch": 1.2}
COMPARED, TOLERANCE = 3, 1e-3
# In a ResNet-50 that sees eight pictures, rounding grows within a step: there the weights all but stand still.
RATES = {"resnet18": 1e-4, "resnet50": 1e-12}


# ---- the peer, in a process of its own ----

def read_safetensors(file):
    """name → tensor, without a package: a length, a JSON header, raw numbers."""
    import torch
    dtypes = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
    content = bytearray(pathlib.Path(file).read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    out = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            raw = torch.frombuffer(content, dtype=torch.uint8, offset=begin + first, count=last - first).clone()
            out[name] = raw.view(dtypes[entry["dtype"]]).reshape(entry["shape"])
    return out


def make_network(network, width, small):
    """As torchvision writes it, with the small stem or the usual one; the projector as ghhost's simclr has it."""
    from torch import nn
    bottleneck = network == "resnet50"
    expansion = 4 if bottleneck else 1

    class Block(nn.Module):
        def __init__(self, inside, inner, stride):
            super().__init__()
            out = inner * expansion
            kernels = [(inside, inner, 1, 1), (inner, inner, 3, stride), (inner, out, 1, 1)] if bottleneck else \
                [(inside, inner, 3, stride), (inner, inner, 3, 1)]
            self.count = len(kernels)
            for i, (a, b, kernel, step) in enumerate(kernels, 1):
                setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
                setattr(self, f"bn{i}", nn.BatchNorm2d(b))
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or inside != out:
                self.downsample = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            out = x
            for i in range(1, self.count + 1):
                out = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(out))
                if i < self.count:
                    out = self.relu(out)
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False) if small else nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.bn1, self.relu, self.avgpool = nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
            self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
            inside = width
            for stage, count in enumerate([3, 4, 6, 3] if bottleneck else [2, 2, 2, 2]):
                blocks = []
                for i in range(count):
                    blocks.append(Block(inside, width << stage, 2 if stage and i == 0 else 1))
                    inside = (width << stage) * expansion
                setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.avgpool(x).flatten(1)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, wide = Encoder(), 8 * width * expansion
            self.projector = nn.Sequential(nn.Linear(wide, wide), nn.BatchNorm1d(wide), nn.ReLU(inplace=True),
                                           nn.Linear(wide, 128, bias=False), nn.BatchNorm1d(128))

        def forward(self, x):
            return self.projector(self.encoder(x))

    return Network()


def nt_xent(z1, z2, temperature=0.2):
    import torch
    from torch.nn import functional as F
    z = F.normalize(torch.cat([z1, z2]))
    similarity = (z @ z.t() / temperature).masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
    return F.cross_entropy(similarity, torch.arange(len(z)).roll(len(z1)))


def load_weights(network, tensors):
    """ghhost numbers the projector's layers without the ReLU, which is part of its normalisation."""
    numbers = {"0": "0", "1": "1", "2": "3", "3": "4"}
    state = {}
    for name, tensor in tensors.items():
        if name.startswith("method."):
            parts = name.split(".")[1:]
            if parts[0] == "projector":
                parts[1] = numbers[parts[1]]
            state[".".join(parts)] = tensor
    network.load_state_dict(state)


def peer(file, layout, threads, network, width, size, rate, allocator):
    import torch
    if allocator:
        import ctypes
        ctypes.CDLL(str(ALLOCATOR)).gh_install_allocator()
    torch.set_num_threads(threads)
    form = torch.channels_last if layout == "channels-last" else torch.contiguous_format
    tensors, network = read_safetensors(file), make_network(network, width, size < 100)
    load_weights(network, tensors)
    network = network.to(memory_format=form).train()
    batches = [[tensors[f"batch.{i}.{v}"].contiguous(memory_format=form) for v in range(2)] for i in range(COMPARED)]
    optimizer = torch.optim.SGD(network.parameters(), rate, momentum=0.9, weight_decay=5e-4)

    def step(number):
        view1, view2 = batches[number % len(batches)]
        optimizer.zero_grad()
        loss = nt_xent(network(view1), network(view2))
        loss.backward()
        optimizer.step()
        return loss.item()

    print("{}", flush=True)
    done = 0
    for line in sys.stdin:
        started, losses = time.perf_counter(), []
        for _ in range(int(line)):
            losses.append(step(done))
            done += 1
        print(json.dumps({"seconds": time.perf_counter() - started, "losses": losses}), flush=True)


# ---- the programs that take turns ----

class Arm(Program):
    def __init__(self, side, layout, file, given, variables=BOUND):
        self.side, self.layout = side, layout
        numbers = [given.threads, given.network, given.width, given.size, RATES[given.network]]
        command = [BUILD / "bin/step_bench", file, layout, *numbers, given.batch, given.convolution] if side == "ghhost" else \
            [PYTHON, "-W", "ignore", __file__, "--peer", file, layout, *numbers, int(side != "torch")]
        super().__init__(*command, **variables)
        self.answer()


def compare(arms):
    expected = arms[0].ask(COMPARED)["losses"]
    print("losses of the first steps: " + ", ".join(f"{x:.6f}" for x in expected))
    for arm in arms[1:]:
        for ours, theirs in zip(expected, arm.ask(COMPARED)["losses"]):
            if abs(ours - theirs) > TOLERANCE * abs(ours):
                sys.exit(f"{arm.side}, {arm.layout}: loss {theirs:.6f}, expected {ours:.6f}; nothing is measured")


def measure(arms, rounds, steps):
    """(side, layout) → seconds a step of each round. The order turns, so that no side always follows the same one."""
    seconds = {(arm.side, arm.layout): [] for arm in arms}
    for number in range(rounds):
        turned = arms[number % len(arms):] + arms[:number % len(arms)]
        for arm in turned:
            seconds[arm.side, arm.layout].append(arm.ask(steps)["seconds"] / steps)
        print(f"round {number + 1}: " + ", ".join(f"{s[-1]:.3f}" for s in seconds.values()), flush=True)
    return seconds


def ratios(seconds, ours, theirs):
    """How many times as fast we are, in each round."""
    return sorted(b / a for a, b in zip(seconds[ours], seconds[theirs]))


def report(seconds, batch, bars):
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    print(f"\n{'':18} {'layout':14} {'s/step':>7} {'images/s':>9}")
    for (side, layout), value in medians.items():
        print(f"{side:18} {layout:14} {value:7.3f} {2 * batch / value:9.1f}")
    print(f"\n{'ghhost':14} {'against':18} {'':14} {'ratio':>6}  range")
    for layout in LAYOUTS:
        for side in SIDES[1:]:
            for other in LAYOUTS:
                r = ratios(seconds, ("ghhost", layout), (side, other))
                print(f"{layout:14} {side:18} {other:14} {statistics.median(r):6.3f}  {r[0]:.3f} … {r[-1]:.3f}")
    print()
    best = {side: min(LAYOUTS, key=lambda layout: medians[side, layout]) for side in SIDES}
    passed = True
    for side, bar in bars.items():
        ratio = statistics.median(ratios(seconds, ("ghhost", best["ghhost"]), (side, best[side])))
        passed = passed and ratio >= bar
        print(f"{'met' if ratio >= bar else 'MISSED':7} best layouts ({best['ghhost']} / {best[side]}), against {side}: {ratio:.3f}, bar {bar}")
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=["resnet18", "resnet50"], default="resnet18")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--size", type=int, default=32, help="of the square pictures; from 100 on the stem is the large one")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1, help="of a turn (default: 1)")
    parser.add_argument("--convolution", choices=["auto", "fast", "exact", "onednn"], default="auto", help="of ghhost")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the seconds of every round there, too")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--peer", nargs=8, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        file, layout, threads, network, width, size, rate, allocator = given.peer
        return peer(file, layout, int(threads), network, int(width), int(size), float(rate), allocator == "1")
    if not given.no_build:
        build(*TARGETS)
    print(f"load average {os.getloadavg()[0]:.2f} at the start", flush=True)
    with tempfile.TemporaryDirectory(prefix="gh-step-") as scratch:
        # Ours first: it writes the weights that the peers read.
        file = pathlib.Path(scratch) / "start.safetensors"
        arms = [Arm(side, layout, file, given) for side in SIDES for layout in LAYOUTS]
        compare(arms)
        seconds = measure(arms, given.rounds, given.steps)
        for arm in arms:
            arm.close()
    if given.json:
        given.json.write_text(json.dumps({f"{side}, {layout}": s for (side, layout), s in seconds.items()}, indent=1) + "\n")
    bars = BARS_ONEDNN
    if given.convolution != "onednn":
        bars = {"torch + allocator": BARS.get((given.network, given.width), 1.0)}
    return 0 if report(seconds, given.batch, bars) else 1


if __name__ == "__main__":
    sys.exit(main())
