#!/usr/bin/env python3
"""A study of drawn pictures whose twelve runs share two warm-ups: what is planned is trained, to the bytes of separate runs, however often it is killed."""
import json
import os
import pathlib
import random
import time
import unittest

from ghhost_case import SOURCE
from test_study_run import StudyCase

STUDY = """
seeds = [0, 1]
baseline = "weight = 1.0, iterations = 5"
[base]
recipe = "{recipe}"
overrides = [
  'harmonize={{warm_up=4, ramp=0, prior={{refresh=1}}, structure={{id="etf", points=8}}, allocator={{id="sinkhorn"}}}}',
  'data.longtail={{law="counts", counts=[60, 50, 40, 30, 20, 18, 14, 10, 8, 6]}}', "backbone.width=4", "train.epochs=6", "train.batch=64",
  'train.optimizer.momentum=0.9', 'eval=[{{id="knn", k=5}}]', "checkpoint.every=1", "loader.threads=1", "train.threads=1"]
[axes]
"harmonize.weight" = [1.0, 3.0]
"harmonize.allocator.iterations" = [2, 5, 20]
"""
EPOCHS, WARM_UP, STEPS = 6, 4, 4  # 256 pictures in batches of 64


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 trains two dozen small networks")
class Pictures(StudyCase):
    def test_two_times_three_arms_and_two_seeds(self):
        file = self.write("pictures.toml", STUDY.format(recipe=SOURCE / "plugins/backbones/resnet/recipe.toml"))
        plan = self.planned_file(file, self.study)
        trunks = [job for job in plan["jobs"] if "until" in job]
        arms = [job for job in plan["jobs"] if "until" not in job]
        self.assertEqual((len(trunks), len(arms)), (2, 12))
        self.assertEqual(plan["left"]["epochs"], 2 * WARM_UP + 12 * (EPOCHS - WARM_UP))
        self.assertEqual(plan["left"]["steps"], STEPS * plan["left"]["epochs"])
        self.work_and_kill(file, arms)

        # Steps as planned: a run's own begin where the shared ones end.
        for job in arms:
            log = self.log(job)
            self.assertNotRegex(log, rf"epoch [1-{WARM_UP}]/")
            self.assertRegex(log, f"epoch {EPOCHS}/{EPOCHS}")
            self.assertEqual(self.metrics(self.study / job["directory"])[-1]["step"], STEPS * EPOCHS)
        for job in trunks:
            self.assertEqual(self.metrics(self.study / job["directory"])[-1]["step"], STEPS * WARM_UP)

        # The same arms by themselves, which lie where a study looks for them.
        alone = self.dir / "alone"
        for job in self.planned_file(file, alone)["jobs"]:
            if "until" not in job:
                self.ghhost("run", alone / job["recipe"], "--out", alone / job["directory"])
                self.assert_same_run(alone / job["directory"], self.study / job["directory"])
        self.ended(self.worker("study", file, "--out", alone, "--no-calibration"))
        for table in ("table.md", "table.tex", "table.csv"):
            self.assertEqual((self.study / table).read_text(), (alone / table).read_text())
        numbers = [[arm["results"] for arm in json.loads((study / "table.json").read_text())["arms"]] for study in (self.study, alone)]
        self.assertEqual(*numbers)
        self.assertEqual(sum(result["n"] for result in numbers[0][0]), 2 * len(numbers[0][0]))

        begin = time.monotonic()
        self.assertNotIn("begins", self.ended(self.worker("study", file, "--out", self.study, "--no-calibration")))
        self.assertLess(time.monotonic() - begin, 2)

    def planned_file(self, file, out):
        return json.loads(self.ghhost("study", "plan", file, "--out", out, "--no-calibration", "--json").stdout)

    def log(self, job):
        return (self.study / f"logs/{pathlib.Path(job['directory']).name}.log").read_text()

    def work_and_kill(self, file, arms):
        """The whole study three times, one of two workers five times, each a little further on."""
        chance = random.Random(3)
        whole = ["study", file, "--out", self.study, "--no-calibration", "--jobs", 2]
        epochs = lambda: sum(len(run.read_text().splitlines()) for run in self.study.glob("runs/*/metrics.jsonl"))
        for mark in (1, 4, 9):
            study = self.worker(*whole)
            self.until(lambda: epochs() >= mark, study)
            time.sleep(chance.uniform(0, 0.3))
            study.kill()
            study.communicate()
        workers = [self.worker(), self.worker()]
        for kill in range(5):
            self.until(lambda: self.done() >= 2 * kill + 1, *workers)
            time.sleep(chance.uniform(0, 0.5))
            worker = workers.pop(chance.randrange(2))
            worker.kill()
            worker.communicate()
            workers.append(self.worker())
        for worker in workers:
            self.ended(worker)
        self.assertIn("12 done", self.ended(self.worker(*whole)))


if __name__ == "__main__":
    unittest.main()
