#!/usr/bin/env python3
"""What a step of every method costs beside SimCLR's, on a ResNet: the passes it makes and not more, and GH next to nothing.

Passes are counted, not told: the encoder is watched, and a view that goes forward or backward through it counts by its pixels.
SimCLR's step S makes f₀ forwards and b₀ backwards. With F, a forward without gradient, measured beside it, a backward is the rest of
the step, B = (S − f₀F)/b₀, which heads, loss and optimiser are part of. A step of f forwards and b backwards may cost
S + (f − f₀)F + (b − b₀)B, and 5 % more. SimCLR and the method take turns in processes of their own, threads bound to cores; medians
of the ratios within each round count. GH is its term (loss, allocation, gradients, tracking, at the width of the method's
embedding) as often as the method asks for it, and may be 1 % of the step. SimCLR against itself shows the noise. The exit code is 0
when all bars are met.

  bench/methods.py                              all methods of the program (about a minute each)
  bench/methods.py --rounds 5 byol swav         these
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from frame import BOUND, BUILD, Program, build

BAR_STEP, BAR_GH = 1.05, 0.01
POINTS, SAMPLES, RATE = 100, 10847, 1e-6
WARM_UP = 2


def methods():
    listed = json.loads(subprocess.run([BUILD / "bin/ghhost", "plugins", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    return sorted(name.removeprefix("ssl/") for plugin in listed for name in plugin.get("provides", []) if name.startswith("ssl/"))


class Side(Program):
    def __init__(self, *command):
        super().__init__(*command, **BOUND)
        self.answer()


def step_of(method, directory, given):
    side = Side(BUILD / "bin/step_bench", directory / method, "channels-last", given.threads, given.network, given.width, given.size, RATE,
                given.batch, "auto", method)
    side.ask(WARM_UP)
    return side


class Terms:
    """Seconds of GH's term, by width of the embedding."""

    def __init__(self, directory, given):
        self.directory, self.given, self.seconds = directory, given, {}

    def at(self, width):
        if width not in self.seconds:
            side = Side(BUILD / "bin/harmonize_bench", self.directory / "term", self.given.threads, SAMPLES, self.given.batch,
                        min(POINTS, width + 1), width)
            side.ask("term 20")
            self.seconds[width] = statistics.median(side.ask("term 20")["seconds"] / 20 for _ in range(self.given.rounds))
            side.close()
        return self.seconds[width]


def compare(simclr, other, given):
    """(allowed seconds, seconds) of each round, and the last answer of the other."""
    rounds = []
    for number in range(given.rounds):
        # In turn, too, who is first.
        sides = [simclr, other] if number % 2 == 0 else [other, simclr]
        answers = {side: side.ask(given.steps) for side in sides}
        base, found = answers[simclr], answers[other]
        forward = simclr.ask(f"forward {2 * given.steps}")["seconds"] / 2 / given.steps
        step, passes = base["seconds"] / given.steps, {key: base[key] / given.steps for key in ("forwards", "backwards")}
        backward = (step - passes["forwards"] * forward) / passes["backwards"]
        more = {key: found[key] / given.steps - passes[key] for key in passes}
        rounds.append((step + more["forwards"] * forward + more["backwards"] * backward, found["seconds"] / given.steps))
    return rounds, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help="all unless some are given")
    parser.add_argument("--network", default="resnet18")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--size", type=int, default=32, help="of the square pictures")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1, help="of a turn (default: 1)")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    given = parser.parse_args()
    if not given.no_build:
        build("product", "step_bench", "harmonize_bench")
    print(f"load average {os.getloadavg()[0]:.2f} at the start; batch {given.batch}, {given.threads} threads\n")
    print(f"{'method':14} {'forward':>7} {'back':>5} {'s/step':>7} {'allowed':>7} {'ratio':>6} {'range':>15} {'GH':>7}")
    met = True
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        terms, simclr = Terms(directory, given), step_of("simclr", directory, given)
        for method in given.methods or methods():
            other = step_of(method, directory, given)
            rounds, found = compare(simclr, other, given)
            other.close()
            allowed, seconds = (statistics.median(side) for side in zip(*rounds))
            ratios = sorted(theirs / most for most, theirs in rounds)
            gh = found["harmonized"] / given.steps * terms.at(found["width"]) / seconds if found["harmonized"] else 0
            good = statistics.median(ratios) <= BAR_STEP and gh <= BAR_GH
            met = met and good
            print(f"{method:14} {found['forwards'] / given.steps:7.2f} {found['backwards'] / given.steps:5.2f} {seconds:7.3f} {allowed:7.3f} "
                  f"{statistics.median(ratios):6.3f} {ratios[0]:7.3f} … {ratios[-1]:.3f} {100 * gh:6.2f} %{'' if good else '  MISSED'}", flush=True)
        simclr.close()
    print(f"\nbars: ratio {BAR_STEP}, GH {100 * BAR_GH:.0f} %: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
