"""Geometric Harmonization from the command line: ablations, what a run tells of it, wrong input, going on."""
import json
import unittest

from ghhost_case import SOURCE, TOY
from paper_studies import STUDIES, arms
from test_resume import OFTEN, ResumeCase

GH = SOURCE / "recipes/cifar100-lt/simclr-gh.toml"
# The recipes of CIFAR-100-LT on a few drawn shapes.
SMALL = ['data={id="shapes", per_class=40, longtail={law="exp", ratio=10}}', "backbone.width=4", "train.batch=64", "train.threads=1",
         "loader.threads=1", "train.epochs=1", "~eval", "harmonize.warm_up=0", "train.schedule.warm_up=0"]
SHORT = ["train.epochs=6", "harmonize.warm_up=3", "harmonize.ramp=2"]


def tensors(file):
    """name → bytes of a safetensors file."""
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    return {name: content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def ablations():
    """What the studies of the paper do to GH, each once, but for lengths of the warm-up."""
    changes = {tuple(o for o in overrides if o.startswith(("harmonize.", "~harmonize.")) and not o.startswith("harmonize.warm_up="))
               for file in STUDIES for _, recipe, overrides in arms(file) if recipe == GH}
    return sorted(change for change in changes if change)


class Ablations(ResumeCase):
    # Two steps are too few for these to differ.
    ALIKE = ("harmonize.momentum=", 'harmonize.prior={id="uniform"}', "harmonize.allocator.iterations=", "harmonize.allocator.tolerance=")
    # What the recipe has, along an axis.
    DEFAULTS = {("harmonize.weight=1.0",), ("harmonize.temperature=0.1",), ("harmonize.allocator.epsilon=0.05",), ("harmonize.structure.points=100",)}

    def loss(self, number, change):
        run = self.dir / str(number)
        self.ghhost("run", GH, *change, *SMALL, "--out", run, env={"XDG_CACHE_HOME": str(self.dir / "cache")})
        row = self.metrics(run)[0]
        without = ('harmonize.apply="projector"', "harmonize.weight=0.0")
        self.assertEqual("loss_gh" in row, not any(o in without for o in change))
        self.assertIn("surrogate_nmi", row)
        return row["loss"]

    def test_every_ablation_runs_an_epoch(self):
        changes = ablations()
        self.assertGreater(len(changes), 30)
        as_it_is = self.loss("as-it-is", ())
        for number, change in enumerate(changes):
            with self.subTest(change):
                loss = self.loss(number, change)
                # One that changes nothing would be a mistake in its study.
                if change in self.DEFAULTS:
                    self.assertEqual(loss, as_it_is)
                elif not all(o.startswith(self.ALIKE) for o in change):
                    self.assertNotEqual(loss, as_it_is)


class WhatItTells(ResumeCase):
    def test_warm_up_leaves_the_weights_bit_for_bit(self):
        self.ghhost("run", TOY, *SHORT, "checkpoint.every=1", "checkpoint.keep=10", "--out", self.dir / "gh")
        self.ghhost("run", TOY, "train.epochs=6", "~harmonize", 'eval.0.when=["end"]', "checkpoint.every=1", "checkpoint.keep=10",
                    "--out", self.dir / "plain")
        files = sorted((self.dir / "gh/checkpoints").glob("step-*"))
        compared = 0
        for i, file in enumerate(files[:6]):
            a, b = tensors(file), tensors(self.dir / "plain/checkpoints" / file.name)
            trained = [name for name in b if name.startswith(("method.", "optimizer."))]
            self.assertGreater(len(trained), 4)
            same = all(a[name] == b[name] for name in trained)
            self.assertEqual(same, i < 3, file.name)
            compared += 1
        self.assertEqual(compared, 6)

    def test_metrics_results_and_report_say_how_it_goes(self):
        run = self.run_toy("a")
        row = self.metrics(run)[-1]
        for name in ("loss_base", "loss_gh", "gh_weight", "points_dead", "points_effective", "points_largest_share", "prior_kl_uniform",
                     "prior_tv_uniform", "prior_kl_classes", "prior_tv_classes", "surrogate_nmi", "surrogate_nmi_geometric",
                     "surrogate_purity", "spread_head", "spread_tail", "allocator_residual", "allocator_iterations"):
            self.assertIsInstance(row[name], (int, float), name)
        self.assertAlmostEqual(row["loss"], row["loss_base"] + row["gh_weight"] * row["loss_gh"], places=4)
        result = json.loads(next((run / "results").glob("*-harmonize.json")).read_text())
        self.assertEqual({p["name"] for p in result["pictures"]}, {"prior", "share", "surrogates", "spread"})
        self.assertEqual({m["name"]: m["value"] for m in result["metrics"]}["surrogate_nmi"], row["surrogate_nmi"])
        self.assertIn("structure: 4 points in 2 dimensions", (run / "train.log").read_text())
        self.assertIn("Samples per point over the epochs", (run / "report.html").read_text())

    def test_more_points_than_samples_in_a_batch_is_a_warning(self):
        done = self.ghhost("run", TOY, *SHORT, "train.batch=3", "train.epochs=4", "--out", self.dir / "a")
        self.assertIn("4 points and 3 samples a batch", done.stderr)

    def test_samples_that_collapse_to_one_point_are_a_warning(self):
        prior = self.write("prior", "1 0 0 0")
        done = self.ghhost("run", TOY, "train.epochs=12", "harmonize.warm_up=0", "harmonize.weight=50", "harmonize.ramp=0",
                           "harmonize.momentum=0.0", f"harmonize.prior={{id='file', file='{prior}'}}", 'eval.0.when=["end"]',
                           "--out", self.dir / "a")
        self.assertEqual(done.stderr.count("the samples collapse to few points"), 1)


class WrongInput(ResumeCase):
    def refused(self, *overrides, says):
        done = self.ghhost("run", TOY, *SHORT, *overrides, "--out", self.dir / "refused", expect=78)
        self.assertIn(says, done.stderr)
        self.assertRegex(done.stderr, r"error: harmonize\.")
        self.assertFalse((self.dir / "refused").exists())

    def test_priors_that_do_not_fit_are_refused_before_the_first_step(self):
        def file(text):
            return [f"harmonize.prior={{id='file', file='{self.write('prior', text)}'}}"]
        self.refused(*file("1 1 1"), says="3 entries, the structure has 4 points")
        self.refused(*file("1 1 1 -1"), says="entry 4 must be finite and not negative")
        self.refused(*file("0 0 0 0"), says="nothing but zeros")
        self.refused(*file("[1, 2"), says="no JSON list")
        self.refused("harmonize.prior={id='file', file='absent'}", says="is not there")
        self.refused("harmonize.prior={id='oracle'}", "harmonize.structure={id='etf', points=3}", says="4 classes and only 3 points")

    def test_a_given_prior_with_zeros_is_met(self):
        prior = self.write("prior", "[1, 0, 2, 1]")
        self.ghhost("run", TOY, *SHORT, f"harmonize.prior={{id='file', file='{prior}'}}", "--out", self.dir / "a")
        self.assertGreater(self.metrics(self.dir / "a")[-1]["loss_gh"], 0)

    def test_structures_that_cannot_be_are_refused(self):
        self.refused("harmonize.structure={id='etf', points=1}", says="expected an integer in 2 …")
        self.refused("harmonize.structure={id='etf', points=4}", says="at most 3 points")
        self.refused("harmonize.structure={id='cross_polytope', points=5}", says="points")
        self.refused("harmonize.warm_up=6", says="GH would never start")

    def test_an_allocator_without_gradients_says_so_under_joint_targets(self):
        self.refused("harmonize.targets=joint", "harmonize.allocator={id='argmax'}", says="argmax gives targets without gradient")


class GoesOn(ResumeCase):
    def test_what_gh_remembers_goes_on_bit_for_bit(self):
        arms = {"kmeans": ["harmonize.allocator={id='kmeans', every=2}", "harmonize.structure={id='learnable', points=4}"],
                "table": ["harmonize.allocator={id='kmeans', source='table'}"],
                "large": ["harmonize.prior={refresh=2, refresh_at='epoch', floor=3.0}", "harmonize.track_from=2"],
                "paper": ["harmonize.mode=paper", "harmonize.structure={id='learnable', points=5}"]}
        for name, overrides in arms.items():
            with self.subTest(name):
                arguments = [TOY, "train.epochs=8", "harmonize.warm_up=3", "train.batch=64", "checkpoint.every=1", *OFTEN, *overrides]
                self.ghhost("run", *arguments, "--out", self.dir / name)
                total = self.metrics(self.dir / name)[-1]["step"]
                for i, step in enumerate((total // 8 + 1, total * 5 // 8 + 2)):
                    run = self.dir / f"{name}-killed-{i}"
                    process = self.start("run", *arguments, "--out", run, "--resume")
                    self.wait_for_checkpoint(run, process, step)
                    self.kill(run, process)
                    self.ghhost("run", *arguments, "--out", run, "--resume")
                    self.assert_same_run(self.dir / name, run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
