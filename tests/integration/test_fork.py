"""Runs that stop where they were asked to, and runs that begin with what others trained."""
import json
import time
import unittest

from ghhost_case import SOURCE, TOY
from test_resume import LONG, ResumeCase
from test_stages import RECIPE as STAGED, ZOO

# The toy's warm-up are the first five of twelve epochs.
ARMS = {
    "weight": ["harmonize.weight=2"],
    "ramp": ["harmonize.ramp=2"],
    "momentum": ["harmonize.momentum=0.5"],
    "temperature": ["harmonize.temperature=0.3"],
    "epsilon": ["harmonize.allocator.epsilon=0.1"],
    "iterations": ["harmonize.allocator.iterations=2"],
    "directions": ['harmonize.directions="one"', 'harmonize.allocate="log-softmax"'],
    "refresh": ["harmonize.prior.refresh=3"],
    "kmeans": ['harmonize.allocator={id="kmeans", every=2}'],
    "milestone": ['train.schedule={id="step", milestones=[8]}'],
    "evaluation": ['eval=[{id="circle", every=6}]'],
}


class ForkCase(ResumeCase):
    def run_whole(self, name, *arguments):
        self.ghhost("run", *arguments, "--out", self.dir / name)
        return self.dir / name

    def trunk(self, name, until, *arguments):
        run = self.dir / name
        self.ghhost("run", *arguments, "--out", run, "--until", until)
        return run

    def fork(self, name, trunk, *arguments, **options):
        self.ghhost("run", *arguments, "--out", self.dir / name, "--fork", trunk, **options)
        return self.dir / name

    def assert_ends_the_same(self, a, b):
        """But for checkpoints of before the fork, which only a run that trained them has."""
        a, b = self.files(a), self.files(b)
        older = {name for name in a if name.startswith("checkpoints/")} - set(b)
        self.assertTrue(all(name < max(b) for name in older))
        self.assertEqual(sorted(set(a) - older), sorted(b))
        for name in b:
            self.assertEqual(a[name], b[name], name)


class Until(ForkCase):
    def test_a_run_stops_where_it_was_asked_to_and_goes_on_bit_for_bit(self):
        whole = self.run_whole("whole", TOY, *LONG)
        run = self.dir / "run"
        done = self.ghhost("run", TOY, *LONG, "--out", run, "--until", 5)
        self.assertIn(f"Stopped after 5 epochs, as was asked. Go on with: ghhost resume {run}", done.stdout)
        self.assertEqual(len(self.metrics(run)), 5)
        self.assertEqual(self.status(run)["state"], "interrupted")
        self.assertEqual(self.status(run)["message"], "stopped after 5 epochs, as was asked")
        self.assertFalse(list((run / "results").glob("*circle*")))  # the warm-up's is made by whoever goes on
        kept = list((run / "kept").iterdir())
        self.assertEqual([k.read_bytes() for k in kept], [self.state(run)])
        before = self.files(run)
        self.ghhost("run", TOY, *LONG, "--out", run, "--resume", "--until", 4)  # it is there already
        self.assertEqual(self.files(run), before)
        self.ghhost("run", TOY, *LONG, "--out", run, "--resume", "--until", 9)
        self.assertEqual(len(self.metrics(run)), 9)
        self.ghhost("resume", run)
        self.assert_same_run(whole, run)
        self.assertEqual(len(list((run / "kept").iterdir())), 2)

    def test_a_run_that_ends_before_is_finished(self):
        run = self.dir / "run"
        done = self.ghhost("run", TOY, *LONG, "--out", run, "--until", 13, "--json")
        self.assertEqual(json.loads(done.stdout)["state"], "finished")
        other = self.dir / "other"
        done = self.ghhost("run", TOY, *LONG, "--out", other, "--until", 12, "--json")
        self.assertEqual(json.loads(done.stdout)["state"], "interrupted")
        self.ghhost("resume", other)
        self.assert_same_run(run, other)

    def test_a_run_that_saves_rarely_saves_where_it_stops(self):
        arguments = [TOY, *LONG, "checkpoint.every=100"]
        whole = self.run_whole("whole", *arguments)
        run = self.trunk("run", 3, *arguments)
        self.assertEqual(len(list((run / "kept").iterdir())), 1)
        self.ghhost("resume", run)
        self.assertEqual(self.state(whole), self.state(run))
        self.assertEqual((whole / "metrics.jsonl").read_bytes(), (run / "metrics.jsonl").read_bytes())

    def test_a_trunk_that_is_killed_is_trained_to_its_end_by_the_same_line(self):
        arguments = [TOY, *LONG, "checkpoint.minutes=1e-9", "train.batch=32"]
        whole = self.trunk("whole", 6, *arguments)
        per_epoch = self.metrics(whole)[-1]["step"] // 6
        run = self.dir / "killed"
        for step in (2, 3 * per_epoch + 1, 6 * per_epoch):
            process = self.start("run", *arguments, "--out", run, "--resume", "--until", 6)
            self.wait_for_checkpoint(run, process, step)
            self.kill(run, process)
        self.ghhost("run", *arguments, "--out", run, "--resume", "--until", 6)
        self.assert_same_run(whole, run)
        self.assertEqual([f.name for f in (run / "kept").iterdir()], [f.name for f in (whole / "kept").iterdir()])


class Forked(ForkCase):
    def test_arms_that_share_the_warm_up_are_those_that_train_it_themselves(self):
        # It goes further than most of them go with it, and has a checkpoint of every epoch.
        trunk = self.trunk("trunk", 8, TOY, *LONG, "checkpoint.keep=9")
        for name, changes in ARMS.items():
            epochs = 8 if name == "milestone" else 5
            with self.subTest(name):
                whole = self.run_whole(f"whole-{name}", TOY, *LONG, *changes)
                arm = self.fork(f"fork-{name}", trunk, TOY, *LONG, *changes)
                self.assert_same_run(whole, arm)
                self.assertIn(f"begins with {epochs} epochs that", (arm / "train.log").read_text())
                self.assertEqual((arm / "train.log").read_text().count("checkpoint of step"), 12 - epochs + 1)
                self.assertEqual(len((arm / "timing.jsonl").read_text().splitlines()),
                                 len((whole / "timing.jsonl").read_text().splitlines()))

    def test_a_prior_that_moves_before_the_end_of_the_warm_up_parts_runs_there(self):
        trunk = self.trunk("trunk", 5, TOY, *LONG)
        for name, changes in {"uniform": ['harmonize.prior={id="uniform"}'], "longer": ["harmonize.warm_up=7"],
                              "floor": ["+harmonize.prior.floor=3"]}.items():
            with self.subTest(name):
                whole = self.run_whole(f"whole-{name}", TOY, *LONG, *changes)
                arm = self.fork(f"fork-{name}", trunk, TOY, *LONG, *changes)
                self.assert_same_run(whole, arm)
                self.assertIn("begins with 4 epochs that", (arm / "train.log").read_text())

    def test_a_prior_that_is_counted_by_epochs_parts_runs_one_earlier(self):
        late = ['harmonize.prior={refresh=1, refresh_at="epoch"}', "checkpoint.keep=9"]
        trunk = self.trunk("trunk", 5, TOY, *LONG, *late)
        for name, (changes, epochs) in {"weight": (["harmonize.weight=2"], 5), "refresh": (["harmonize.prior.refresh=4"], 4),
                                        "floor": (["+harmonize.prior.floor=3"], 3), "longer": (["harmonize.warm_up=8"], 3)}.items():
            with self.subTest(name):
                whole = self.run_whole(f"whole-{name}", TOY, *LONG, *late, *changes)
                arm = self.fork(f"fork-{name}", trunk, TOY, *LONG, *late, *changes)
                self.assert_ends_the_same(whole, arm)
                self.assertIn(f"begins with {epochs} epochs that", (arm / "train.log").read_text())

    def test_a_fork_can_be_a_trunk_and_a_trunk_can_go_on(self):
        late = ['train.schedule={id="step", milestones=[9]}', 'eval=[{id="circle", when=["start", "end"], every=2}]']
        arms = {name: [TOY, *LONG, *late, *changes]
                for name, changes in {"a": [], "b": ["harmonize.weight=2"], "c": ["harmonize.weight=2", "train.schedule.milestones=[10]"]}.items()}
        first = self.trunk("first", 5, *arms["a"])
        second = self.dir / "second"
        self.ghhost("run", *arms["c"], "--out", second, "--fork", first, "--until", 9)
        self.ghhost("resume", first)  # its checkpoint of the fifth epoch is kept
        self.ghhost("eval", first)    # and this is of no concern to others
        for name, trunk in (("b", second), ("c", second), ("a", first)):
            whole = self.run_whole(f"whole-{name}", *arms[name])
            self.assert_same_run(whole, self.fork(f"fork-{name}", trunk, *arms[name]))
        self.assertIn("begins with 9 epochs", (self.dir / "fork-b/train.log").read_text())
        self.assert_same_run(self.dir / "whole-b", self.fork("late", first, *arms["b"]))
        self.ghhost("resume", second)
        self.assert_same_run(self.dir / "whole-c", second)

    def test_runs_that_differ_in_what_is_asked_at_the_end_are_trained_once(self):
        trunk = self.trunk("trunk", 12, TOY, *LONG)
        changes = ['eval=[{id="circle", when=["warm-up", "end"]}, {id="effective_rank", when=["end"]}]']
        whole = self.run_whole("whole", TOY, *LONG, *changes)
        arm = self.fork("arm", trunk, TOY, *LONG, *changes)
        self.assert_ends_the_same(whole, arm)
        self.assertEqual(len(self.metrics(arm)), 12)

    def test_the_best_checkpoints_come_along(self):
        best = ["checkpoint.best=3", "checkpoint.keep=1", "checkpoint.goal=\"max\""]
        trunk = self.trunk("trunk", 5, TOY, *LONG, *best)
        whole = self.run_whole("whole", TOY, *LONG, *best, "harmonize.weight=2")
        arm = self.fork("arm", trunk, TOY, *LONG, *best, "harmonize.weight=2")
        self.assert_same_run(whole, arm)
        self.assertGreater(len(list((arm / "checkpoints").iterdir())), 1)

    def test_a_convolutional_network_on_pictures(self):
        recipe = SOURCE / "plugins/backbones/resnet/recipe.toml"
        gh = ("harmonize={{warm_up=2, ramp=0, weight={weight}, prior={{refresh=1}}, structure={{id=\"etf\", points=8}}, "
              "allocator={{id=\"sinkhorn\", iterations={iterations}}}}}")
        small = ["backbone.width=4", "train.epochs=4", "train.optimizer.momentum=0.9",
                 'train.schedule={id="gh-two-stage", warm_up=1, lr_split=0.05}',
                 'data.longtail={law="counts", counts=[60, 50, 40, 30, 20, 18, 14, 10, 8, 6]}', "train.batch=64"]
        trunk = self.trunk("trunk", 3, recipe, gh.format(weight=1.0, iterations=20), *small)
        for name, changes in {"weight": [gh.format(weight=3.0, iterations=20), *small],
                              "iterations": [gh.format(weight=1.0, iterations=2), *small]}.items():
            whole = self.run_whole(f"whole-{name}", recipe, *changes)
            self.assert_same_run(whole, self.fork(f"fork-{name}", trunk, recipe, *changes))

    def test_a_method_in_stages_forks_within_one_and_between_two(self):
        recipe = self.write("staged.toml", STAGED)
        whole_changes = {2: ["harmonize.weight=2"], 4: ['eval.0.when=["warm-up"]']}
        for until, changes in whole_changes.items():
            self.ghhost("--plugin", ZOO, "run", recipe, "--out", self.dir / f"trunk-{until}", "--until", until)
            self.ghhost("--plugin", ZOO, "run", recipe, *changes, "--out", self.dir / f"whole-{until}")
            self.ghhost("--plugin", ZOO, "run", recipe, *changes, "--out", self.dir / f"fork-{until}",
                        "--fork", self.dir / f"trunk-{until}")
            self.assert_same_run(self.dir / f"whole-{until}", self.dir / f"fork-{until}")
            self.assertIn(f"begins with {until} epochs", (self.dir / f"fork-{until}/train.log").read_text())

    def test_a_fork_that_is_killed_is_made_by_the_same_line(self):
        arguments = [TOY, *LONG, "harmonize.weight=2", "checkpoint.minutes=1e-9", "train.batch=32"]
        trunk = self.trunk("trunk", 5, TOY, *LONG, "train.batch=32")
        whole = self.run_whole("whole", *arguments)
        last = self.metrics(whole)[-1]["step"]
        line = ["run", *arguments, "--resume", "--fork", trunk]
        there = [lambda run: run.exists(), lambda run: (run / "recipe.toml").exists(),
                 lambda run: (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").stat().st_size,
                 lambda run: (run / "checkpoints").exists(),
                 lambda run: list((run / "checkpoints").glob("step-*.safetensors")),
                 lambda run: (run / f"checkpoints/step-{5 * last // 12 + 3:09}.safetensors").exists()]
        for i, moment in enumerate(there):
            run = self.dir / f"killed-{i}"
            process = self.start(*line, "--out", run)
            deadline = time.monotonic() + 120
            while not moment(run) and process.poll() is None:
                self.assertLess(time.monotonic(), deadline)
            self.kill(run, process)
            self.ghhost(*line, "--out", run)
            self.assert_same_run(whole, run)

    def test_a_fork_begins_anew_without_the_other_run_where_it_was_killed_before_its_checkpoint(self):
        trunk = self.trunk("trunk", 5, TOY, *LONG)
        whole = self.run_whole("whole", TOY, *LONG, "harmonize.weight=2")
        arm = self.fork("arm", trunk, TOY, *LONG, "harmonize.weight=2")
        for file in (arm / "checkpoints").iterdir():
            file.unlink()
        status = self.status(arm)
        (arm / "status.json").write_text(json.dumps({**status, "state": "running"}))
        self.ghhost("resume", arm)
        self.assert_same_run(whole, arm)


class Refused(ForkCase):
    def assert_refused(self, trunk, *changes, telling, expect=78):
        out = self.dir / "refused"
        done = self.ghhost("run", TOY, *LONG, *changes, "--out", out, "--fork", trunk, expect=expect)
        self.assertRegex(done.stderr, telling)
        self.assertFalse(out.exists())

    def test_recipes_that_do_not_train_alike_so_far_are_refused_with_the_key(self):
        trunk = self.trunk("trunk", 5, TOY, *LONG, "checkpoint.keep=1")
        before = self.files(trunk)
        self.assert_refused(trunk, "method.temperature=0.7", telling=r"from the start they differ in:\n\s*method\.temperature: [0-9.]+ → 0\.7")
        self.assert_refused(trunk, "seed=1", telling=r"seed: 0 → 1")
        self.assert_refused(trunk, "train.epochs=13", telling=r"train\.epochs: 12 → 13")
        self.assert_refused(trunk, "data.longtail.ratio=8", telling=r"data\.longtail\.ratio")
        self.assert_refused(trunk, "~harmonize", 'eval=[{id="circle"}]', telling=r"harmonize\.structure\.id")
        self.assert_refused(trunk, "harmonize.warm_up=3",
                            telling=r"(?s)train alike for 2 epochs, and it has no checkpoint of these.*harmonize\.warm_up: 5 → 3")
        self.assertEqual(self.files(trunk), before)

    def test_other_data_and_other_versions_of_plugins_are_refused(self):
        trunk = self.trunk("trunk", 5, TOY, *LONG)
        environment = json.loads((trunk / "environment.json").read_text())
        for plugin in environment["plugins"]:
            if "ssl/simclr" in plugin["provides"]:
                plugin["version"] = "0.0.1"
        (trunk / "environment.json").write_text(json.dumps(environment))
        self.assert_refused(trunk, telling=r"plugin of ssl/simclr: \S+ 0\.0\.1 → ")
        data = json.loads((trunk / "data.json").read_text())
        (trunk / "data.json").write_text(json.dumps({**data, "fingerprint": "other"}))
        self.assert_refused(trunk, telling=r"the data have changed")

    def test_what_has_no_checkpoint_to_begin_with_is_refused(self):
        self.assert_refused(self.dir / "nowhere", telling="is no run to begin with", expect=66)
        finished = self.run_whole("finished", TOY, *LONG, "checkpoint.every=100")  # nothing at the end of an epoch
        self.assert_refused(finished, telling=r"has no checkpoint at the end of an epoch to begin with; train it with --until 12", expect=66)

    def test_a_damaged_checkpoint_is_passed_over(self):
        trunk = self.trunk("trunk", 5, TOY, *LONG)
        newest = sorted((trunk / "checkpoints").iterdir())[-1]
        for file in (newest, trunk / "kept" / newest.name):
            file.write_bytes(file.read_bytes()[:-1] + b"\x55")
        whole = self.run_whole("whole", TOY, *LONG, "harmonize.weight=2")
        arm = self.fork("arm", trunk, TOY, *LONG, "harmonize.weight=2")
        self.assert_same_run(whole, arm)
        self.assertIn("begins with 4 epochs", (arm / "train.log").read_text())


if __name__ == "__main__":
    unittest.main()
