#!/usr/bin/env python3
"""What a study costs beside its runs: the time in which none of them ran, and the processor time of the process that is the study.

Some runs of the toy, one after the other, of as many epochs as studies have. The bar: each is less than 1 % of the whole. Of longer runs
it is less still. What it is made of is the page, which is as long as the curves are: with --epochs 20000 --samples 20, epochs of half a
millisecond, drawing 80,000 of them at the end takes 7 s beside 43 s of training. The exit code is 0 when the bar is met.

  bench/study_run.py [--runs 4] [--epochs 500] [--samples 8000]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from frame import BUILD, ROOT

BAR = 0.01
TINY = ["~eval", "loader.threads=1", "train.threads=1"]


def plan(directory, seeds, *overrides):
    (directory / "study.toml").write_text(f"""name = "toys"
seeds = {list(range(seeds))}
[base]
recipe = "{ROOT / "recipes/toy/simclr.toml"}"
overrides = {json.dumps([*TINY, *overrides])}
""")
    subprocess.run([BUILD / "bin/ghhost", "study", "plan", directory / "study.toml", "--out", directory / "out", "--no-calibration"],
                   capture_output=True, check=True)
    return directory / "out"


def processor_seconds(process):
    """Of the process itself, without its children."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def overhead(directory, runs, epochs, samples):
    study = plan(directory, runs, f"data.per_class={samples}", f"train.epochs={epochs}", f"checkpoint.every={epochs}")
    begin = time.monotonic()
    worker = subprocess.Popen([BUILD / "bin/ghhost", "study", study], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own = 0.0
    while worker.poll() is None:
        own = processor_seconds(worker.pid) or own  # a process that has ended and was not waited for has its times
        time.sleep(0.05)
    wall = time.monotonic() - begin
    outcomes = [json.loads(file.read_text()) for file in (study / "outcomes").glob("*.json")]
    in_runs = sum(attempt["seconds"] for outcome in outcomes for attempt in outcome["attempts"])
    print(f"{runs} runs of {in_runs / runs:.1f} s: {wall - in_runs:.2f} s beside them ({(wall - in_runs) / wall:.2%}), "
          f"{own:.2f} s of processor time ({own / wall:.2%}); bar {BAR:.0%}")
    return max(wall - in_runs, own) < BAR * wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--samples", type=int, default=8000, help="of a class")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        return 0 if overhead(pathlib.Path(name), given.runs, given.epochs, given.samples) else 1


if __name__ == "__main__":
    sys.exit(main())
