"""Methods that train in stages: zoo_staged has two of train.epochs each, and an empty one between them."""
import json
import unittest

from ghhost_case import GHHOST
from test_resume import ResumeCase

ZOO = GHHOST.parent.parent / "tests/zoo/plugins/zoo_good.so"
RECIPE = '''
name = "staged"
data = { id = "toy2d" }
views = { count = 2, noise = 0.1 }
backbone = { id = "mlp" }
method = { id = "zoo_staged", embedding = 2 }
train = { epochs = 4, batch = 64, threads = 1, optimizer = { id = "sgd", lr = 0.01 } }

[harmonize]
structure = { id = "orthogonal" }
allocator = { id = "sinkhorn" }
warm_up = 3

[[eval]]
id = "circle"
every = 1
when = ["warm-up", "end"]
'''


class Stages(ResumeCase):
    def run_staged(self, out, *overrides):
        recipe = self.write("staged.toml", RECIPE)
        self.ghhost("--plugin", ZOO, "run", recipe, *overrides, "--out", self.dir / out)
        return self.dir / out

    def results(self, run):
        found = [json.loads(f.read_text()) for f in sorted((run / "results").glob("*.json"))]
        return [r for r in found if r["evaluator"] == "circle"]

    def test_a_later_stage_has_an_order_and_views_of_its_own(self):
        rows = self.metrics(self.run_staged("run"))
        self.assertEqual([(r["stage"], r["epoch"]) for r in rows], [(s, e) for s in ("first", "second") for e in (1, 2, 3, 4)])
        for number in ("order", "pixels"):
            self.assertEqual(len({r[number] for r in rows}), len(rows), number)
        # The first stage is what a run of this stage alone would have been.
        short = self.metrics(self.run_staged("short", "train.epochs=2", "harmonize.warm_up=1"))
        for number in ("order", "pixels"):
            self.assertEqual([r[number] for r in short], [r[number] for r in rows[:4]], number)

    def test_results_say_gh_where_the_stage_is_past_its_warm_up(self):
        run = self.run_staged("run")
        harmonized = [row.get("gh_weight", 0) > 0 for row in self.metrics(run)]
        self.assertEqual(harmonized, [False, False, False, True] * 2)
        results = self.results(run)
        self.assertEqual({(r["moment"], r["epoch"]) for r in results if r["moment"] != "epoch"},
                         {("warm-up", 3), ("warm-up", 7), ("end", 8)})
        for result in results:
            self.assertEqual(result["label"].endswith("+ GH"), harmonized[result["epoch"] - 1], result["epoch"])
        self.ghhost("--plugin", ZOO, "eval", run)
        self.assertEqual(self.results(run)[-1]["label"], "zoo_staged + GH")

    def test_a_run_killed_in_its_second_stage_goes_on_bit_for_bit(self):
        recipe = self.write("staged.toml", RECIPE)
        arguments = ["--plugin", ZOO, "run", recipe, "checkpoint.minutes=1e-9"]
        self.ghhost(*arguments, "--out", self.dir / "whole")
        total = 2 * self.metrics(self.dir / "whole")[-1]["step"]
        run = self.dir / "killed"
        for step in (total // 2, total // 2 + 3, total - 5):
            process = self.start(*arguments, "--out", run, "--resume")
            self.wait_for_checkpoint(run, process, step)
            self.kill(run, process)
        self.ghhost(*arguments, "--out", run, "--resume")
        self.assert_same_run(self.dir / "whole", run)


if __name__ == "__main__":
    unittest.main()
