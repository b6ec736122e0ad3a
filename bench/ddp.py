#!/usr/bin/env python3
"""A training step of SimCLR in two processes over Gloo: ghhost against torch's DistributedDataParallel.

Both start from the same weights and take the same batches, one thread a rank, negatives of both ranks with gradient, batch
statistics of each rank alone (torch's SyncBatchNorm does not run on CPUs). The loss of the first step is compared; if it
differs, nothing is measured. Then the programs take turns. The bar is a ratio of 1.0; the exit code is 0 when it is met.

  bench/ddp.py              width 16, batch 128, 5 rounds (about five minutes)
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv/bin/python"
GHHOST = ROOT / "build/bin/ghhost"
RECIPE = ROOT / "plugins/backbones/resnet/recipe.toml"
RANKS = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
EPOCHS = 3  # the first is not counted


def peer(directory, width):
    """One rank of the peer: prints the loss of the first step and the seconds of a step."""
    sys.path.insert(0, str(ROOT / "tests/integration"))
    import torch
    import torch.distributed as dist
    from plain_resnet import SimClr, nt_xent
    from safetensors.torch import load_file
    from torch.distributed.nn.functional import all_gather
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, directory = dist.get_rank(), pathlib.Path(directory)
    weights = load_file(sorted((directory / "initial/checkpoints").glob("*.safetensors"))[-1])
    model = SimClr(width, 128)
    names = {"linear1": "0", "norm1": "1", "linear2": "2", "norm2": "3"}
    for name, parameter in model.named_parameters():
        head, _, tail = name.partition(".")
        parameter.data.copy_(weights[f"method.encoder.{tail}" if head == "encoder" else f"method.projector.{names[head]}.{tail}"])
    trained = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    optimizer = torch.optim.SGD(trained.parameters(), lr=1e-4, momentum=0.9)
    batches = load_file(directory / "batches.safetensors")
    steps = 1 + max(int(key.split(".")[1]) for key in batches)
    first, seconds = None, []
    for epoch in range(EPOCHS):
        started = time.perf_counter()
        for step in range(steps):
            views = [batches[f"0.{step}.{v}"].chunk(2)[rank] for v in (0, 1)]
            optimizer.zero_grad()
            # Every rank computes the loss of the whole batch: the gradients of the gather are summed, those of ranks averaged.
            z1, z2 = (torch.cat(all_gather(trained(view))) for view in views)
            loss = nt_xent(z1, z2, 0.2)
            loss.backward()
            optimizer.step()
            first = loss.item() if first is None else first
        dist.barrier()
        seconds.append((time.perf_counter() - started) / steps)
    if rank == 0:
        print(json.dumps({"loss": first, "seconds": statistics.mean(seconds[1:])}))
    dist.destroy_process_group()


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--channels-last", action="store_true", help="ghhost's layout; the peer keeps torch's default")
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        return peer(arguments.peer[0], int(arguments.peer[1]))
    with tempfile.TemporaryDirectory(prefix="ghhost-ddp-") as temporary:
        directory = pathlib.Path(temporary)
        settings = [f"backbone.width={arguments.width}", f"train.batch={arguments.batch}", "train.drop_last=true", "train.threads=1",
                    "loader.threads=1", "ranks.sync_norm=false", f"train.channels_last={str(arguments.channels_last).lower()}",
                    "checkpoint.every=1000", "checkpoint.minutes=0.0"]
        sgd = 'train.optimizer={id="sgd", lr=%s, momentum=0.9}'
        run([ROOT / "build/bin/batches_driver", RECIPE, 1, directory / "batches.safetensors", *settings])
        run([GHHOST, "run", RECIPE, *settings, "train.epochs=1", sgd % "1e-30", "--out", directory / "initial"])
        ours, theirs = [], []
        for number in range(arguments.rounds):
            out = directory / f"run-{number}"
            run([*RANKS, "--no-python", GHHOST, "run", RECIPE, *settings, f"train.epochs={EPOCHS}", sgd % "1e-4", "--out", out])
            timing = [json.loads(line) for line in (out / "timing.jsonl").read_text().splitlines()]
            metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            steps = metrics[0]["step"]
            ours.append(statistics.mean(line["seconds"] for line in timing[1:]) / steps)
            told = json.loads(run([*RANKS, __file__, "--peer", directory, arguments.width]).splitlines()[-1])
            theirs.append(told["seconds"])
            if number == 0:
                # Ours is the mean of the first epoch at a rate that hardly moves the weights.
                print(f"loss: ghhost {metrics[0]['loss']:.4f} over the first epoch, torch {told['loss']:.4f} in its first step")
                if abs(metrics[0]["loss"] - told["loss"]) > 0.05 * told["loss"]:
                    sys.exit("the losses differ: nothing is measured")
            print(f"round {number + 1}: ghhost {ours[-1]:.4f} s/step, torch {theirs[-1]:.4f}", flush=True)
        ratios = sorted(t / o for t, o in zip(theirs, ours))
        print(f"ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f} … {ratios[-1]:.3f}), bar 1.0")
        return 0 if statistics.median(ratios) >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
