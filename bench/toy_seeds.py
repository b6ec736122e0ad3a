#!/usr/bin/env python3
"""The toy over seeds and imbalance ratios, with and without GH: the tables of docs/toy.md.

    bench/toy_seeds.py [--first SEED] [--seeds N] [override …]

Overrides go to the runs with GH only (harmonize.weight=1 …). Both arms train for the same number of epochs.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATIOS = (1, 4, 16, 64)


def run(recipe, overrides, scratch):
    out = tempfile.mkdtemp(dir=scratch) + "/run"
    subprocess.run([ROOT / "build/bin/ghhost", "run", recipe, *overrides, "--out", out], check=True, capture_output=True)
    result = sorted(pathlib.Path(out).glob("results/*-end-circle.json"))[-1]
    return {m["name"]: m["value"] for m in json.loads(result.read_text())["metrics"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    print("| R | arm | head's share, median | smallest angle, median | smallest angle, each seed |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for ratio in RATIOS:
            for arm in ("simclr", "gh"):
                changes = arguments.overrides if arm == "gh" else []
                runs = [run(ROOT / f"recipes/toy/r{ratio}-{arm}.toml", [*changes, f"seed={seed}"], scratch)
                        for seed in range(arguments.first, arguments.first + arguments.seeds)]
                angles = [r["smallest_angle"] for r in runs]
                print(f"| {ratio} | {'SimCLR + GH' if arm == 'gh' else 'SimCLR'} "
                      f"| {statistics.median(r['head_share'] for r in runs):.2f} | {statistics.median(angles):.0f}° "
                      f"| {' '.join(f'{a:.0f}' for a in angles)} |", flush=True)


main()
