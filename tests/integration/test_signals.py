"""Signals while something long goes on: the run stops soon, and goes on to the end of one that was never stopped."""
import os
import signal
import time
import unittest

from ghhost_case import GHHOST, SHAPES, TOY
from test_data import small_jpeg
from test_resume import ResumeCase

SMALL = [SHAPES, "data.per_class=40", "train.epochs=2", "train.threads=1"]
ZOO = GHHOST.parent.parent / "tests/zoo/plugins/zoo_meddlers.so"
LONG = 60  # seconds; what is stopped would go on for much longer


class Stopped(ResumeCase):
    def wait_until(self, process, what, happened):
        deadline = time.monotonic() + 120
        while not happened():
            self.assertIsNone(process.poll(), f"the run ended before {what}")
            self.assertLess(time.monotonic(), deadline, f"{what} never came")
            time.sleep(0.005)

    def wait_until_doing(self, run, process, what):
        self.wait_until(process, what, lambda: (run / "status.json").exists() and self.status(run).get("doing") == what)

    def stop(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, 75, stdout + stderr)
        return stdout

    def test_every_long_evaluation_is_cut_off(self):
        evaluators = {"tsne": "iterations=10000000", "linear_probe": 'protocol="gh", epochs=1000000', "finetune": "epochs=1000000, rate=1e-6"}
        for name, long in evaluators.items():
            with self.subTest(name):
                run = self.dir / name
                process = self.start("run", *SMALL, f'eval=[{{id="{name}", {long}}}]', "--out", run)
                self.wait_until_doing(run, process, f"evaluating {name}")
                seen = self.status(run)["updated"]
                self.wait_until(process, "a heartbeat", lambda: self.status(run)["updated"] > seen)
                self.stop(process)
                status = self.status(run)
                self.assertEqual((status["state"], status["message"]), ("interrupted", "stopped by a signal"))
                self.assertTrue((run / "report.html").exists())

    def stop_and_resume(self, *recipe, doing="evaluating zoo_waiting", number=signal.SIGTERM):
        """Stops a run where it waits for a file; with it, another run and what is left of this one must agree."""
        file = self.dir / "go on"
        recipe = [*map(lambda text: str(text).replace("FILE", str(file)), recipe)]
        whole, run = self.dir / "whole", self.dir / "run"
        process = self.start("--plugin", ZOO, "run", *recipe, "--out", run)
        if callable(doing):
            self.wait_until(process, "the moment to stop", lambda: doing(run))
        else:
            self.wait_until_doing(run, process, doing)
        self.stop(process, number)
        self.assertEqual(self.status(run)["state"], "interrupted")
        file.touch()
        self.ghhost("--plugin", ZOO, "run", *recipe, "--out", whole)
        self.ghhost("--plugin", ZOO, "resume", run)
        self.assertEqual(self.status(run)["state"], "finished")
        self.assert_same_run(whole, run)
        return run

    def test_the_last_evaluation_is_made_again(self):
        knn = '{id="knn", k=5}'
        self.stop_and_resume(*SMALL, f'eval=[{knn}, {{id="zoo_waiting", file="FILE"}}, {knn}]')

    def test_an_evaluation_between_epochs_is_made_again_and_what_was_learnt_is_kept(self):
        evals = 'eval=[{id="circle", every=1}, {id="zoo_waiting", every=2, file="FILE"}]'
        run = self.stop_and_resume(TOY, "train.epochs=6", "harmonize.warm_up=3", "checkpoint.every=100", "checkpoint.keep=1", evals,
                                   number=signal.SIGINT)
        self.assertIn("going on from", (run / "train.log").read_text())

    def test_the_first_evaluation_is_made_again(self):
        evals = 'eval=[{id="circle", when=["start"]}, {id="zoo_waiting", when=["start", "end"], file="FILE"}]'
        self.stop_and_resume(TOY, "train.epochs=2", "~harmonize", evals)

    def test_an_allocation_that_is_cut_off_is_made_again_from_the_last_checkpoint(self):
        # The warm-up asks for no assignment; then the first one waits.
        def in_it(run):
            return (run / "metrics.jsonl").exists() and len((run / "metrics.jsonl").read_bytes().splitlines()) == 2 and \
                len(list((run / "checkpoints").glob("step-*.safetensors"))) == 2
        run = self.stop_and_resume(TOY, "train.epochs=4", "harmonize.warm_up=2", "checkpoint.every=1", 'eval=[{id="circle"}]',
                                   'harmonize.allocator={id="zoo_waiting", file="FILE"}', doing=in_it)
        self.assertIn("last checkpoint", (run / "train.log").read_text())

    def test_sinkhorn_does_not_go_on_for_hours(self):
        run = self.dir / "run"
        process = self.start("run", TOY, "train.epochs=2", "harmonize.warm_up=1", 'eval=[{id="circle"}]',
                             'harmonize.allocator={id="sinkhorn", iterations=100000000, tolerance=0.0}', "--out", run)
        self.wait_until(process, "the end of the warm-up", lambda: (run / "metrics.jsonl").exists() and
                        (run / "metrics.jsonl").stat().st_size)
        self.stop(process)
        self.assertEqual(self.status(run)["state"], "interrupted")

    def test_a_second_signal_leaves_at_once_and_says_so(self):
        run = self.dir / "run"
        evaluator = f'eval=[{{id="zoo_waiting", deaf=true, file="{self.dir / "never"}"}}]'
        process = self.start("--plugin", ZOO, "run", *SMALL, evaluator, "--out", run)
        self.wait_until_doing(run, process, "evaluating zoo_waiting")
        deadline = time.monotonic() + LONG
        while process.poll() is None:  # those that follow the first too closely are the same wish
            self.assertLess(time.monotonic(), deadline, "a second signal did not end it")
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        process.communicate()
        self.assertEqual(process.returncode, 75)
        status = self.status(run)
        self.assertEqual(status["state"], "interrupted")
        self.assertIn("second signal", status["message"])

    def test_evaluating_afterwards_can_be_stopped(self):
        run, out = self.dir / "run", self.dir / "out"
        self.ghhost("run", *SMALL, 'eval=[{id="knn", k=5}]', "--out", run)
        process = self.start("eval", run, 'eval=[{id="tsne", iterations=10000000}]', "--out", out)
        self.wait_until_doing(out, process, "evaluating tsne")
        self.stop(process, signal.SIGINT)
        self.assertEqual(self.status(out)["state"], "interrupted")

    def test_a_launcher_that_repeats_a_signal_does_not_cost_the_state(self):
        run = self.dir / "run"
        process = self.start("run", TOY, "train.epochs=100000", "--out", run)
        self.wait_until(process, "the first epoch", lambda: (run / "metrics.jsonl").exists() and
                        (run / "metrics.jsonl").stat().st_size)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=LONG)
        self.assertEqual(process.returncode, 75, stderr)
        self.assertEqual(self.status(run)["message"], "stopped by a signal")
        self.assertEqual(len(list((run / "checkpoints").glob("step-*"))), 1)


class NotRegular(ResumeCase):
    def setUp(self):
        super().setUp()
        self.root = self.dir / "pictures"
        for split in ("train", "test"):
            for name in ("ant", "bee"):
                (self.root / split / name).mkdir(parents=True)
                for i in range(4):
                    (self.root / split / name / f"{i}.jpg").write_bytes(small_jpeg())
        self.pipe = self.root / "train/ant/9.jpg"
        os.mkfifo(self.pipe)

    def test_a_pipe_among_pictures_is_an_error_that_names_it(self):
        recipe = self.write("recipe.toml", f'''
name = "pipe"
data = {{ id = "image_folder", root = "{self.root}" }}
views = {{ preset = "simclr-32" }}
backbone = {{ id = "mlp", hidden = [8], features = 2 }}
method = {{ id = "simclr" }}
train = {{ epochs = 1, batch = 3, threads = 1, optimizer = {{ id = "sgd", lr = 0.1 }} }}
''')
        self.assertIn(f"{self.pipe} is a pipe; expected a regular file", self.ghhost("run", recipe, "--out", "run", expect=74).stderr)
        done = self.ghhost("data", "check", recipe, expect=65)
        self.assertIn("9.jpg is a pipe", done.stdout + done.stderr)
        done = self.ghhost("run", recipe, "loader.on_error=skip", "--out", "skipped")
        self.assertIn("9.jpg is a pipe", done.stderr)

    def test_recipes_and_weights_are_regular_files(self):
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        self.assertIn("is a pipe", self.ghhost("check", pipe, expect=78).stderr)
        done = self.ghhost("run", *SMALL, f'backbone.weights="{pipe}"', "--out", "never", expect=74)
        self.assertIn(f"{pipe} is a pipe", done.stderr)
        self.assertFalse((self.dir / "never").exists())


if __name__ == "__main__":
    unittest.main()
