"""Evaluations during training and afterwards, of runs and of weights from elsewhere; what is refused."""
import json
import unittest

from ghhost_case import SHAPES, TOY
from test_resume import ResumeCase

# Two epochs on drawn shapes, judged by neighbours.
KNN = ['eval=[{id="knn", k=5}]']
QUICK = ["train.epochs=2", "data.per_class=40", *KNN]


class EvalCase(ResumeCase):
    def results(self, run, moment=None):
        found = [json.loads(file.read_text()) for file in sorted((run / "results").glob("*.json"))]
        return [r for r in found if moment in (None, r["moment"])]

    def numbers(self, result):
        return {metric["name"]: metric["value"] for metric in result["metrics"]}

    def run_shapes(self, out, *overrides):
        self.ghhost("run", SHAPES, *QUICK, *overrides, "--out", self.dir / out)
        return self.dir / out


class DuringTraining(EvalCase):
    def test_every_comes_between_the_named_moments_and_survives_a_kill(self):
        settings = [TOY, "train.epochs=12", "harmonize.warm_up=6", "eval.0.every=3", "checkpoint.every=2"]
        whole, killed = self.dir / "whole", self.dir / "killed"
        self.ghhost("run", *settings, "--out", whole)
        moments = [(r["moment"], r["epoch"]) for r in self.results(whole) if r["evaluator"] == "circle"]
        self.assertEqual(moments, [("epoch", 3), ("warm-up", 6), ("epoch", 9), ("end", 12)], "each epoch once")
        process = self.start("run", *settings, "--out", killed)
        self.wait_for_checkpoint(killed, process, 20)
        self.kill(killed, process)
        self.ghhost("resume", killed)
        self.assert_same_run(whole, killed)

    def test_an_evaluation_without_a_moment_is_refused(self):
        done = self.ghhost("check", TOY, "eval.0.when=[]", expect=78)
        self.assertIn("every is 0", done.stderr)
        self.ghhost("check", TOY, "eval.0.when=[]", "eval.0.every=5")

    def test_results_say_how_on_what_and_with_which_seed(self):
        result = self.results(self.run_shapes("run", "seed=4"))[0]
        self.assertEqual(result["params"]["k"], 5)
        self.assertEqual(result["params"]["temperature"], 0.07)
        self.assertEqual(result["seed"], 4)
        self.assertEqual(set(result["splits"]), {"train", "test"})
        self.assertTrue(all(result["splits"].values()))
        groups = next(t for t in result["tables"] if t["name"] == "groups")
        self.assertEqual(groups["columns"], ["many", "medium", "few", "std", "avg"])


class Afterwards(EvalCase):
    def test_a_run_is_evaluated_again_and_keeps_what_it_had(self):
        run = self.run_shapes("run")
        before = self.files(run)
        self.ghhost("eval", run)
        self.ghhost("eval", run, "eval.0.k=9", 'eval.0.groups="deciles"')
        after = self.files(run)
        self.assertEqual(before, {name: after[name] for name in before})
        same, other = self.results(run, "afterwards")
        self.assertEqual(self.numbers(same), self.numbers(self.results(run, "end")[0]), "the same weights")
        self.assertEqual(other["changed"], {"eval.0.groups": '"deciles"', "eval.0.k": "9"})
        self.assertIn("d10", self.numbers(other))
        # Going on with a run leaves them alone, too.
        status = self.status(run)
        (run / "status.json").write_text(json.dumps({**status, "state": "interrupted"}))
        self.ghhost("resume", run)
        self.assertEqual(len(self.results(run, "afterwards")), 2)

    def test_another_directory_leaves_the_run_alone(self):
        run, out = self.run_shapes("run"), self.dir / "elsewhere"
        before = {str(f): f.read_bytes() for f in run.rglob("*") if f.is_file()}
        self.ghhost("eval", run, "--out", out)
        self.assertEqual(before, {str(f): f.read_bytes() for f in run.rglob("*") if f.is_file()})
        self.assertEqual(self.status(out)["state"], "finished")
        self.assertEqual(self.numbers(self.results(out)[0]), self.numbers(self.results(run)[0]))
        self.assertTrue((out / "report.html").exists())

    def test_exported_weights_give_the_numbers_of_the_run(self):
        run = self.run_shapes("run")
        self.ghhost("export", run, "--out", "encoder.safetensors")
        self.ghhost("eval", SHAPES, "data.per_class=40", *KNN, "--weights", "encoder.safetensors", "--out", "foreign")
        self.assertEqual(self.numbers(self.results(self.dir / "foreign")[0]), self.numbers(self.results(run)[0]))
        # What follows the encoder is not in the file.
        done = self.ghhost("eval", SHAPES, "data.per_class=40", 'eval=[{id="knn", level="embedding"}]',
                           "--weights", "encoder.safetensors", expect=3)
        self.assertIn("projector", done.stderr)


class BadInput(EvalCase):
    def test_networks_stay_as_they_were_trained(self):
        run = self.run_shapes("run")
        done = self.ghhost("eval", run, "method.temperature=0.5", "backbone.features=32", expect=78)
        self.assertIn("method.temperature: 0.2 → 0.5", done.stderr)
        self.assertIn("backbone.features: 64 → 32", done.stderr)
        self.assertEqual(self.results(run, "afterwards"), [])

    def test_a_run_without_checkpoint_says_what_to_do(self):
        run = self.run_shapes("run")
        for file in (run / "checkpoints").glob("*"):
            file.unlink()
        done = self.ghhost("eval", run, expect=66)
        self.assertIn("no checkpoint", done.stderr)
        self.assertIn("ghhost resume", done.stderr)

    def test_weights_of_another_architecture_are_refused(self):
        self.ghhost("export", self.run_shapes("run"), "--out", "encoder.safetensors")
        for change in ("backbone.features=32", "backbone.hidden=[256, 64]"):
            done = self.ghhost("eval", SHAPES, "data.per_class=40", change, *KNN, "--weights", "encoder.safetensors",
                               "--out", "never", expect=1)
            self.assertRegex(done.stderr, "encoder.safetensors|shape|tensor")
            self.assertFalse((self.dir / "never").exists())

    def test_a_recipe_alone_and_no_evaluators(self):
        self.assertIn("--weights", self.ghhost("eval", SHAPES, *KNN, expect=66).stderr)
        run = self.run_shapes("run")
        self.assertIn("+eval=", self.ghhost("eval", run, "~eval", expect=78).stderr)

    def test_groups_splits_and_rules_are_checked_before_training(self):
        done = self.ghhost("run", SHAPES, *QUICK, "eval.0.groups=thirds", "eval.0.split=tset", "--out", "never", expect=78)
        self.assertIn("terciles", done.stderr)
        self.assertIn("no split 'tset'", done.stderr)
        self.assertFalse((self.dir / "never").exists())


if __name__ == "__main__":
    unittest.main()
