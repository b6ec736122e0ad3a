"""Every bundled SSL method by its own small recipe, with GH: killed and resumed, and on two ranks. Which methods there are is the
program's to say: each is a test of every class below, test_<id>; --list prints them all."""
import array
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
import unittest

from ghhost_case import GHHOST, SOURCE
from test_resume import OFTEN, ResumeCase

GH = ('harmonize={warm_up=1, ramp=0, prior={refresh=1}, structure={id="etf", points=8}, '
      'allocator={id="sinkhorn", iterations=20}}')
# Five steps an epoch, of which the first is warm-up.
SMALL = ["train.batch=48", "data.per_class=60", "train.epochs=4", 'train.device="cpu"', "~eval"]
# Epochs are shared out over stages; enough of them that GH acts in each stage that has it.
STAGED = {"dnc": ["train.epochs=8"]}
# Stages that have none.
WITHOUT_GH = {"dnc": ["distillation"]}
# Plain descent: Adam would make steps of what rounding leaves of a gradient that is zero.
GENTLE = [*SMALL, 'train.dtype="float64"', 'train.optimizer={id="sgd", lr=0.01}']


def recipes():
    """Method → its recipe, plugins/ssl/<plugin>/recipe.toml or, of a plugin's further methods, <method>.toml."""
    listed = json.loads(subprocess.run([GHHOST, "plugins", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    found = {}
    for plugin in listed:
        for kind, method in (provided.split("/") for provided in plugin["provides"]):
            folder = SOURCE / "plugins/ssl" / plugin["name"]
            own = folder / f"{method}.toml"
            if kind == "ssl":
                found[method] = own if own.exists() else folder / "recipe.toml"
    return found


def of_every_method(case):
    """Gives the class a test for each method, which calls check(method, recipe)."""
    for method, recipe in recipes().items():
        setattr(case, f"test_{re.sub(r'[^a-z0-9]', '_', method)}",
                lambda self, method=method, recipe=recipe: self.check(method, recipe))
    return case


def header_and_body(checkpoint):
    raw = checkpoint.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:8 + size]), raw[8 + size:]


def doubles(checkpoint):
    """Name → values of all tensors of type float64."""
    header, body = header_and_body(checkpoint)
    found = {}
    for name, tensor in header.items():
        if tensor.get("dtype") == "F64":
            begin, end = tensor["data_offsets"]
            found[name] = array.array("d", body[begin:end])
    return found


def steps_by_stage(metrics):
    """Optimiser steps of each stage, in their order."""
    return {row["stage"]: row["step"] for row in metrics}


def newest(run):
    return sorted((run / "checkpoints").glob("step-*.safetensors"))[-1]


@of_every_method
class Killed(ResumeCase):
    """Ends as a run that was never killed; keeps, and logs, what it says it does."""

    def check(self, method, recipe):
        arguments = [recipe, GH, *SMALL, *OFTEN, *STAGED.get(method, [])]
        whole, run = self.dir / "whole", self.dir / "killed"
        self.ghhost("run", *arguments, "--out", whole)
        self.check_log(method, whole)
        self.check_state(method, newest(whole))
        for step in self.moments(steps_by_stage(self.metrics(whole)).values()):
            process = self.start("run", *arguments, "--out", run, "--resume")
            self.wait_for_checkpoint(run, process, step)
            self.kill(run, process)
        self.ghhost("run", *arguments, "--out", run, "--resume")
        self.assert_same_run(whole, run)

    def moments(self, stages):
        """Steps of the whole run: in the warm-up, and with GH, each time within an epoch; and early in every further stage."""
        before = 0
        for number, steps in enumerate(stages):
            yield from (3, steps // 2 + 2) if number == 0 else (before + 1,)
            before += steps

    def check_log(self, method, run):
        last = {}
        for row in self.metrics(run):
            last[row["stage"]] = row
            for name in ("loss_base", "unit_std", "effective_rank", "alignment", "uniformity"):
                self.assertIsInstance(row[name], (int, float), name)
        without = [stage for stage, row in last.items() if "loss_gh" not in row]
        self.assertEqual(without, WITHOUT_GH.get(method, []))
        for row in last.values():
            if "loss_pruned" not in row:  # two losses a step, and GH in both
                self.assertAlmostEqual(row["loss"], row["loss_base"] + row.get("gh_weight", 0) * row.get("loss_gh", 0), places=4)

    def check_state(self, method, checkpoint):
        """Against what the manifest says, behind the semicolon what may be there."""
        plugin = json.loads(self.ghhost("plugins", "info", f"ssl/{method}", "--json").stdout)["plugin"]
        said = next(c["state"] for c in plugin["components"] if c["id"] == method)
        always, _, sometimes = (re.findall(r"\w+", part) for part in said.partition(";"))
        header, _ = header_and_body(checkpoint)
        kept = {name.split(".")[1] for name in [*header, *header["__metadata__"]] if name.startswith("method.")}
        self.assertLessEqual(set(always), kept)
        self.assertLessEqual(kept, {*always, *sometimes})


@of_every_method
@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 kills every method twenty times")
class KilledOften(ResumeCase):
    KILLS = 20

    def check(self, method, recipe):
        arguments = [recipe, GH, *SMALL, *OFTEN, "train.epochs=10"]
        whole, run = self.dir / "whole", self.dir / "killed"
        self.ghhost("run", *arguments, "--out", whole)
        total = sum(steps_by_stage(self.metrics(whole)).values())
        moments = random.Random(f"{method} {os.environ.get('GH_TEST_SEED', 0)}")
        for step in sorted(moments.sample(range(1, total), self.KILLS)):
            process = self.start("run", *arguments, "--out", run, "--resume")
            # A run that got further than it should is killed while it starts, or soon after.
            there = self.at_step(run) >= step
            if not there:
                self.wait_for_checkpoint(run, process, step)
            time.sleep(moments.uniform(0, 1 if there else 0.05))
            self.kill(run, process)
        self.ghhost("run", *arguments, "--out", run, "--resume")
        self.assert_same_run(whole, run)

    def at_step(self, run):
        return max((int(f.stem[5:]) for f in (run / "checkpoints").glob("step-*.safetensors")), default=0)


@of_every_method
class TwoRanks(ResumeCase):
    """Twenty steps of two processes are those of one."""

    def check(self, method, recipe):
        one, two = self.dir / "one", self.dir / "two"
        arguments = ["run", recipe, GH, *GENTLE, *STAGED.get(method, []), "--out"]
        self.ghhost(*arguments, one)
        self.ranks(*arguments, two)
        self.assertGreaterEqual(sum(steps_by_stage(self.metrics(one)).values()), 20)
        a, b = ({k: v for k, v in doubles(newest(run)).items() if not k.startswith("host.")} for run in (one, two))
        self.assertEqual(set(a), set(b))
        self.assertGreater(len(a), 0)
        for name, values in a.items():
            self.assertLess(max(abs(x - y) for x, y in zip(values, b[name])), 1e-9, name)
        for x, y in zip(self.metrics(one), self.metrics(two), strict=True):
            for name in ("loss", "loss_base", "unit_std", "effective_rank", "uniformity"):
                self.assertAlmostEqual(x[name], y[name], delta=1e-9, msg=name)

    def ranks(self, *arguments):
        """Two processes that meet, as a launcher would start them."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        processes = [subprocess.Popen([GHHOST, *map(str, arguments)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                           "MASTER_PORT": str(port)})
                     for rank in range(2)]
        said = [process.communicate(timeout=300)[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], said)


class Recipes(ResumeCase):
    def test_there_is_a_recipe_for_every_method(self):
        found = recipes()
        self.assertIn("simclr", found)
        for method, recipe in found.items():
            resolved = self.ghhost("check", recipe, "--resolved").stdout
            self.assertRegex(resolved, rf'\[method\](.*\n)+?id = "{method}"', recipe)


def list_tests():
    """As list_cases.py prints them."""
    for case in (Killed, KilledOften, TwoRanks, Recipes):
        for name in unittest.defaultTestLoader.getTestCaseNames(case):
            print(f"{case.__name__}.{name}" + ("\tslow" if case is KilledOften else ""))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        list_tests()
    else:
        unittest.main()
