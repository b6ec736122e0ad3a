#!/usr/bin/env python3
"""How long it takes to plan a study of thousands of runs of which most are done, and again.

Runs of the toy, 10,000 by default in as many rows as seeds allow, all but some of them marked as finished by a status.json alone: nothing is trained.
The bar: the plan is there within 5 seconds. The exit code is 0 when it is met.

  bench/study_plan.py [--rows 2000] [--seeds 5] [--new 100]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from frame import BUILD, ROOT

BAR = 5.0


def plan(directory):
    begin = time.monotonic()
    done = subprocess.run([BUILD / "bin/ghhost", "study", "plan", directory / "study.toml", "--out", directory / "out", "--no-calibration", "--json"],
                          capture_output=True, text=True, check=True)
    return time.monotonic() - begin, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--new", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        weights = ", ".join(f"{i / 1000}" for i in range(1, given.rows + 1))
        (directory / "study.toml").write_text(f"""name = "many"
seeds = {list(range(given.seeds))}
[base]
recipe = "{ROOT / "recipes/toy.toml"}"
[axes]
"harmonize.weight" = [{weights}]
""")
        first, planned = plan(directory)
        jobs = [job for job in planned["jobs"] if "until" not in job]
        print(f"{len(jobs)} runs, all new: {first:.2f} s")
        for job in jobs[:len(jobs) - given.new]:
            run = directory / "out" / job["directory"]
            run.mkdir(parents=True)
            (run / "status.json").write_text('{"state": "finished", "epoch": 160, "message": ""}')
        seconds = min(plan(directory)[0] for _ in range(3))
        print(f"{len(jobs)} runs, all but {given.new} done: {seconds:.2f} s (bar {BAR:.0f} s)")
        return 0 if seconds <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
