#!/usr/bin/env python3
"""Runs the unit tests under many values of GH_TEST_SEED and lists the cases that only pass by luck.

    tests/under_seeds.py [--seeds 200] [--first 1] [PROGRAM…]     programs: all of build/bin/test_* unless some are given

Each program runs once as a whole, which shows the cases that draw from the generator; only those are run again under the other
seeds: the rest see nothing of a seed."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def run(program, seed, *arguments, **environment):
    return subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace",
                          env={"OMP_NUM_THREADS": "1", **os.environ, "GH_TEST_SEED": str(seed), **environment})


def failures(done):
    """The commands that repeat what failed, or the end of the output of a program that died."""
    if done.returncode == 0:
        return []
    return re.findall(r"repeat with: (.*)", done.stdout + done.stderr) or [f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    programs = [p.resolve() for p in arguments.programs] or sorted((SOURCE / "build/bin").glob("test_*"))
    failed = 0
    for program in programs:
        with tempfile.TemporaryDirectory() as scratch:
            drawing = pathlib.Path(scratch) / "cases"
            found = failures(run(program, arguments.first, GH_TEST_DRAWS=str(drawing)))
            cases = drawing.read_text().splitlines() if drawing.exists() else []
            for seed in range(arguments.first + 1, arguments.first + arguments.seeds if cases else 0):
                found += failures(run(program, seed, "--input-file", str(drawing)))
        print(f"{program.name}: {len(cases)} cases draw; {len(found)} failures", *found, sep="\n  ", flush=True)
        failed += len(found)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
