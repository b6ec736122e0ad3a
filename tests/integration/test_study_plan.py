#!/usr/bin/env python3
"""Studies are planned: what is new and why, what is there, what is shared, what it takes; and again after the file has changed."""
import json
import pathlib
import subprocess
import unittest

from ghhost_case import GHHOST, SOURCE, GhhostCase

BASE = """
[base]
recipe = "{toy}"
overrides = ["train.epochs=12", "harmonize.warm_up=6", "harmonize.ramp=2", "data.per_class=20", "train.batch=16", "~eval"]
"""
ARMS = """
[[arm]]
label = "GH"

[[arm]]
label = "plain"
overrides = ["~harmonize"]
axes = false
"""
WEIGHTS = '[axes]\n"harmonize.weight" = [1.0, 2.0]\n'


class StudyPlan(GhhostCase):
    def study(self, text, head="name = 'weights'\nseeds = [0, 1]\nbaseline = 'plain'\n", base=BASE):
        return self.write("study.toml", head + base.format(toy=SOURCE / "recipes/toy.toml") + text)

    def plan(self, file, *options, **more):
        return json.loads(self.ghhost("study", "plan", file, "--no-calibration", "--json", *options, **more).stdout)

    def runs(self, plan, **wanted):
        return [job for job in plan["jobs"] if "until" not in job and all(job[key] == value for key, value in wanted.items())]

    def train(self, plan, job):
        directory = pathlib.Path(plan["directory"])
        self.ghhost("run", directory / job["recipe"], "--out", directory / job["directory"])

    def test_a_plan_says_what_is_new_and_by_which_key(self):
        file = self.study(WEIGHTS + ARMS)
        plan = self.plan(file)
        self.assertEqual(plan["directory"], str(self.dir / "studies/weights"))
        self.assertEqual([(job["label"], job["seed"]) for job in self.runs(plan)],
                         [(label, seed) for label in ("GH, weight = 1.0", "GH, weight = 2.0", "plain") for seed in "01"])
        self.assertEqual({job["state"] for job in plan["jobs"]}, {"new"})
        self.assertEqual({job["baseline"] for job in self.runs(plan)}, {"plain"})
        self.assertEqual({tuple(job["unintended"]) for job in self.runs(plan)}, {()})

        one, = self.runs(plan, label="GH, weight = 1.0", seed="0")
        self.train(plan, one)
        plan = self.plan(file)
        self.assertEqual([job["label"] for job in self.runs(plan, state="done")], ["GH, weight = 1.0"])
        by = {(job["label"], job["seed"]): [d["key"] for d in job["differences"]] for job in self.runs(plan, state="new")}
        self.assertEqual(by["GH, weight = 1.0", "1"], ["seed"])
        self.assertEqual(by["GH, weight = 2.0", "0"], ["harmonize.weight"])
        text = self.ghhost("study", "plan", file, "--no-calibration").stdout
        self.assertIn("new by harmonize.weight: 1.0 → 2.0 (nearest: GH, weight = 1.0)", text)
        self.assertIn("6 runs: 5 new, 1 done", text)

    def test_a_changed_file_keeps_what_is_done_and_names_what_is_gone(self):
        plan = self.plan(self.study(WEIGHTS + ARMS, head="name = 'weights'\n"))
        for job in self.runs(plan):
            self.train(plan, job)
        plan = self.plan(self.study(WEIGHTS.replace("1.0", "3.0") + ARMS.replace('"GH"', '"with GH"'), head="name = 'weights'\n"))
        self.assertEqual({job["label"]: job["state"] for job in self.runs(plan)},
                         {"with GH, weight = 3.0": "new", "with GH, weight = 2.0": "done", "plain": "done"})
        self.assertEqual(len(plan["dropped"]), 1)
        self.assertIn("gh-weight-1.0-seed-0", plan["dropped"][0])
        self.assertTrue((pathlib.Path(plan["directory"]) / plan["dropped"][0] / "report.html").exists() or
                        (pathlib.Path(plan["directory"]) / plan["dropped"][0] / "status.json").exists())

    def test_what_is_shared_is_trained_once(self):
        plan = self.plan(self.study(WEIGHTS + ARMS))
        trunks = [job for job in plan["jobs"] if "until" in job]
        self.assertEqual([job["until"] for job in trunks], [6, 6])
        self.assertEqual(plan["epochs_saved"], 12)
        for job in self.runs(plan, arm="GH"):
            self.assertEqual(job["from"]["epoch"], 6)
            self.assertIn(job["from"]["id"], [trunk["id"] for trunk in trunks if trunk["seed"] == job["seed"]])

    def test_a_study_is_what_its_recipes_data_and_seeds_are(self):
        one, = self.runs(self.plan(self.study("", head="seeds = [0]\n")))
        renamed, = self.runs(self.plan(self.study("", head="name = 'other'\nseeds = [0]\n"), "--out", self.dir / "o"))
        self.assertEqual(one["id"], renamed["id"])
        other, = self.runs(self.plan(self.study("", head="seeds = [1]\n"), "--out", self.dir / "p"))
        self.assertNotEqual(one["id"], other["id"])

    def test_a_scaled_study_is_another_beside_it(self):
        file = self.study("", head="name = 'weights'\n")
        plain, scaled = self.plan(file), self.plan(file, "--scale", "0.5")
        self.assertEqual(scaled["directory"], str(self.dir / "studies/weights-0.5"))
        self.assertEqual(self.runs(scaled)[0]["epochs"], 6)
        self.assertNotEqual(self.runs(plain)[0]["id"], self.runs(scaled)[0]["id"])
        self.assertIn("train.epochs: 12 → 6", self.ghhost("study", "plan", file, "--scale", "0.5", "--no-calibration").stdout)

    def test_time_is_measured_where_no_run_has_ended_and_then_taken_from_those_that_did(self):
        file = self.study("", head="name = 'weights'\nseeds = [0, 1]\n")
        done = self.ghhost("study", "plan", file)
        self.assertIn("Measuring how fast this machine is, 1 of 1", done.stderr)
        self.assertIn("measured on this machine", done.stdout)
        self.assertRegex(done.stdout, r"MB of memory a run, \d+ MB of disk")
        self.assertNotIn("Measuring", self.ghhost("study", "plan", file).stderr)
        plan = self.plan(file)
        self.assertGreater(plan["left"]["seconds"], 0)
        self.train(plan, self.runs(plan)[0])
        self.assertIn("(by 1 finished runs)", self.ghhost("study", "plan", file).stdout)

    def test_mistakes_of_a_study_are_told_by_check_and_by_plan(self):
        file = self.study('[axes]\n"harmonize.wieght" = [1.0]\n[[arm]]\nlabl = "a"\n')
        for command in (["check"], ["check", "--scale", "small"], ["study", "plan"]):
            said = self.ghhost(*command, file, expect=78).stderr
            self.assertIn("did you mean 'label'", said)
        file = self.study('[axes]\n"harmonize.wieght" = [1.0]\n', head="")
        for command in (["check"], ["study", "plan"]):
            self.assertIn("study.toml:6:1: error: harmonize.wieght", self.ghhost(*command, file, expect=78).stderr)
        out = json.loads(self.ghhost("check", file, "--json", expect=78).stdout)
        self.assertEqual(out["diagnostics"][0]["line"], 6)
        self.ghhost("check", self.study("", head=""), "train.epochs=1", expect=64)
        self.ghhost("study", "plan", self.dir / "gone.toml", expect=66)
        self.assertIn("expected a scale", self.ghhost("study", "plan", self.study("", head=""), "--scale", "tiny", expect=78).stderr)

    def test_missing_data_end_the_plan_with_who_needs_them(self):
        file = self.write("study.toml", f"""[base]
recipe = "{SOURCE / "recipes/cifar100-lt/simclr.toml"}"
overrides = ["data.root={self.dir / "nowhere"}"]
[axes]
"method.temperature" = [0.1, 0.2]
""")
        said = self.ghhost("study", "plan", file, "--no-calibration", expect=66).stderr
        self.assertIn("nowhere", said)
        self.assertIn("needed by temperature = 0.1; temperature = 0.2", said)

    def test_an_unreadable_recipe_is_told_whether_or_not_seeds_are_given(self):
        for base in (self.dir, self.write("broken.toml", "[data\n")):
            for head in ("", "seeds = [0]\n"):
                file = self.write("study.toml", f'{head}[base]\nrecipe = "{base}"\n')
                for command in (["check"], ["study", "plan"]):
                    self.assertIn(f"{base}", self.ghhost(*command, file, expect=78).stderr)

    def test_a_damaged_list_of_runs_is_written_anew(self):
        file = self.study(WEIGHTS + ARMS)
        plan = self.plan(file)
        self.train(plan, self.runs(plan)[0])
        (pathlib.Path(plan["directory"]) / "jobs.json").write_text("{")
        self.assertEqual([job["state"] for job in self.runs(self.plan(file))], ["done"] + 5 * ["new"])

    def test_several_may_plan_at_once(self):
        file = self.study(WEIGHTS + ARMS)
        plans = [subprocess.Popen([GHHOST, "study", "plan", file, "--no-calibration"], cwd=self.dir, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for _ in range(8)]
        self.assertEqual([(told, plan.returncode) for plan in plans for told in [plan.communicate()[1]]], 8 * [("", 0)])

    def test_a_directory_of_another_study_is_left_alone(self):
        self.plan(self.study("", head="name = 'a'\n"), "--out", self.dir / "o")
        before = (self.dir / "o/jobs.json").read_bytes()
        said = self.ghhost("study", "plan", self.study("", head="name = 'b'\n"), "--out", self.dir / "o", expect=78).stderr
        self.assertIn('holds the study "a"', said)
        self.assertEqual((self.dir / "o/jobs.json").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
