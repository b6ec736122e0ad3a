"""Runs of the toy recipe, from the command line to the run directory."""
import json
import pathlib
import re
import signal
import subprocess
import time
import tomllib
import unittest

from ghhost_case import GHHOST, SHORT, SOURCE, TOY, GhhostCase


class Reproducibility(GhhostCase):
    def test_two_runs_of_a_recipe_are_the_same_run(self):
        a, b = self.run_toy("a"), self.run_toy("b")
        self.assertEqual(self.metrics(a), self.metrics(b))
        self.assertEqual(self.state(a), self.state(b))
        self.assertEqual(self.results(a), self.results(b))
        for run in (a, b):
            self.ghhost("eval", run)
        self.assertEqual(self.results(a), self.results(b))
        # How long it took stands apart.
        timed = [json.loads(line) for line in (a / "timing.jsonl").read_text().splitlines()]
        of = {line["result"] for line in timed if "result" in line and line["seconds"] > 0}
        self.assertEqual(of, {f"results/{name}" for name in self.results(a) if "circle.json" in name})
        self.assertEqual(sum("result" not in line for line in timed), len(self.metrics(a)))

    def results(self, run):
        return {file.name: file.read_bytes() for file in (run / "results").iterdir()}

    def test_another_seed_is_another_run(self):
        self.assertNotEqual(self.metrics(self.run_toy("a")), self.metrics(self.run_toy("b", "seed=1")))

    def test_the_number_of_threads_changes_nothing(self):
        a, b = self.run_toy("a", "train.threads=1"), self.run_toy("b", "train.threads=2")
        self.assertEqual(self.state(a), self.state(b))

    def test_the_resolved_recipe_runs_again_to_the_same_end(self):
        a = self.run_toy("a")
        self.ghhost("run", a / "recipe.toml", "--out", self.dir / "b")
        self.assertEqual((a / "recipe.toml").read_text(), (self.dir / "b/recipe.toml").read_text())
        self.assertEqual(self.state(a), self.state(self.dir / "b"))

    def test_the_warm_up_is_the_same_with_and_without_harmonization(self):
        with_gh = self.metrics(self.run_toy("a"))
        self.ghhost("run", TOY, "train.epochs=10", "~harmonize", 'eval.0.when=["end"]', "--out", self.dir / "b")
        without = self.metrics(self.dir / "b")
        for a, b in zip(with_gh[:5], without[:5]):  # GH adds columns about what it watches
            self.assertEqual({key: a[key] for key in b}, b)
        self.assertNotEqual(with_gh[5]["loss"], without[5]["loss"])


class RunDirectory(GhhostCase):
    def test_everything_promised_is_there(self):
        run = self.run_toy("a")
        for name in ("recipe.toml", "environment.json", "status.json", "metrics.jsonl", "metrics.csv", "timing.jsonl",
                     "train.log", "data.json", "report.html"):
            self.assertTrue((run / name).stat().st_size > 0, name)
        environment = json.loads((run / "environment.json").read_text())
        self.assertEqual(sorted(p["name"] for p in environment["plugins"]),
                         ["circle", "mlp", "orthogonal", "simclr", "sinkhorn", "toy2d"])
        for plugin in environment["plugins"]:
            self.assertRegex(plugin["sha256"], r"^[0-9a-f]{64}$")
        data = json.loads((run / "data.json").read_text())
        self.assertEqual(sum(data["class_counts"]), data["samples"])
        self.assertEqual(data["class_counts"][0] // data["class_counts"][3], 16)
        self.assertEqual(self.status(run)["state"], "finished")
        self.assertEqual(len(self.metrics(run)), 10)
        self.assertEqual(len(list((run / "results").glob("*.json"))), 3)

    def test_an_existing_directory_is_never_overwritten(self):
        run = self.run_toy("a")
        before = (run / "metrics.jsonl").read_bytes()
        done = self.ghhost("run", TOY, *SHORT, "--out", run, expect=74)
        self.assertIn("not empty", done.stderr)
        self.assertEqual((run / "metrics.jsonl").read_bytes(), before)

    def test_without_out_runs_are_numbered(self):
        self.ghhost("run", TOY, *SHORT)
        self.ghhost("run", TOY, *SHORT)
        self.assertEqual(sorted(p.name for p in (self.dir / "runs").iterdir()), ["toy-001", "toy-002"])

    def test_a_refused_recipe_leaves_no_directory(self):
        self.ghhost("run", TOY, "method.temprature=1", "--out", self.dir / "a", expect=78)
        self.assertFalse((self.dir / "a").exists())

    def test_several_runs_stand_side_by_side(self):
        a, b = self.run_toy("a"), self.run_toy("b", "seed=1")
        self.ghhost("report", a, b, "--out", self.dir / "both.html")
        self.assertIn("<svg", (self.dir / "both.html").read_text())
        self.ghhost("report", self.dir, expect=66)

    def test_json_outcome(self):
        done = self.ghhost("run", TOY, *SHORT, "--out", self.dir / "a", "--json")
        self.assertEqual(json.loads(done.stdout)["state"], "finished")


class Trouble(GhhostCase):
    def test_ctrl_c_saves_and_exits_75(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            out = self.dir / number.name
            process = subprocess.Popen([GHHOST, "run", TOY, "train.epochs=100000", "--out", out],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 60
            while not (out / "metrics.jsonl").exists() or (out / "metrics.jsonl").stat().st_size == 0:
                self.assertLess(time.monotonic(), deadline, "the run never started")
                time.sleep(0.05)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, stderr)
            self.assertEqual(self.status(out)["state"], "interrupted")
            self.assertGreater(len(self.state(out)), 1000)
            self.assertTrue((out / "report.html").exists())
            self.assertIn("Stopped by a signal", stdout)

    def test_a_loss_that_is_not_finite_stops_the_run_and_says_where(self):
        done = self.ghhost("run", TOY, *SHORT, "train.optimizer.lr=1e30", "--out", self.dir / "a", expect=1)
        self.assertRegex(done.stderr, r"the (loss|gradient's norm) is -?(nan|inf) in epoch \d+, step \d+; .*ghhost replay")
        status = self.status(self.dir / "a")
        self.assertEqual(status["state"], "failed")
        self.assertIn(" is ", status["message"])

    def test_components_that_do_not_fit_are_refused_together_with_positions(self):
        recipe = self.write("bad.toml", self.flat_toy(("features = 2", "features = 3"),
                                                      ('id = "orthogonal"', 'id = "etf"\npoints = 9')))
        done = self.ghhost("run", recipe, "--out", self.dir / "a", expect=78)
        self.assertIn("a simplex in 3 dimensions has at most 4 points", done.stderr)
        self.assertIn("embeddings of width 2", done.stderr)
        self.assertRegex(done.stderr, r"bad\.toml:\d+:\d+: error: harmonize\.structure\.points")
        self.assertFalse((self.dir / "a").exists())

    def test_a_last_batch_of_one_sample_is_refused_before_training(self):
        # 807 samples: 13 batches of 62 and one sample; parts of batches likewise. The projector normalises batches.
        norm = ['method.projector="mlp"', "method.embedding=2"]
        for overrides in (["train.batch=62"], ["train.batch=124", "train.accumulate=2"]):
            done = self.ghhost("run", TOY, *SHORT, *norm, *overrides, "--out", self.dir / "never", expect=78)
            self.assertRegex(done.stderr, r"train\.batch.*807 samples in batches of")
            self.assertIn("train.drop_last = true", done.stderr)
            self.assertFalse((self.dir / "never").exists())
        run = self.run_toy("a", *norm, "train.batch=62", "train.drop_last=true")
        self.assertEqual(self.metrics(run)[-1]["step"], 130)
        # Without normalisation it can be done, and teaches nothing.
        self.assertIn("one sample for the last batch", self.ghhost("run", TOY, *SHORT, "train.batch=62", "--out", self.dir / "b").stderr)
        done = self.ghhost("run", TOY, "train.batch=2", "train.accumulate=2", "--out", self.dir / "never", expect=78)
        self.assertIn("negatives", done.stderr)

    def test_a_cosine_of_one_epoch_trains_at_its_rate(self):
        run = self.dir / "run"
        self.ghhost("run", TOY, "~harmonize", "train.epochs=1", 'train.schedule={id="cosine"}', 'eval.0.when=["end"]', "--out", run)
        self.assertEqual([line["lr"] for line in self.metrics(run)], [0.01])

    def test_a_directory_that_cannot_be_written_is_an_io_error(self):
        self.ghhost("run", TOY, *SHORT, "--out", "/proc/ghhost-run", expect=74)

    def test_a_long_tail_that_empties_a_class_names_the_key(self):
        done = self.ghhost("run", TOY, *SHORT, "data.longtail.ratio=100000", expect=78)
        self.assertIn("longtail.ratio", done.stderr)


class CommandLine(GhhostCase):
    def test_every_command_has_help_with_an_example(self):
        commands = [[], ["run"], ["check"], ["plugins"], ["plugins", "list"], ["plugins", "info"], ["plugins", "check"],
                    ["new-plugin"], ["sdk"], ["report"], ["complete"], ["version"], ["keys"]]
        for command in commands:
            text = self.ghhost(*command, "--help").stdout
            self.assertRegex(text, r"Examples?:\s+ghhost", command)

    def test_wrong_arguments_exit_64(self):
        self.ghhost(expect=64)
        self.ghhost("fly", expect=64)
        self.ghhost("run", expect=64)
        self.ghhost("new-plugin", "loss", "x", expect=64)
        self.ghhost("new-plugin", "ssl", "Bad-Name", expect=64)

    def test_a_new_plugin_of_a_program_that_is_not_installed_asks_for_that_first(self):
        said = self.ghhost("new-plugin", "ssl", "mine").stdout
        self.assertLess(said.index("make install PREFIX=$PREFIX"), said.index("-DCMAKE_PREFIX_PATH=$PREFIX"))

    def test_the_packaging_of_a_new_plugin_names_what_it_is_built_with(self):
        self.ghhost("new-plugin", "ssl", "plain")
        self.assertFalse((self.dir / "plain/pyproject.toml").exists())
        self.ghhost("new-plugin", "ssl", "mine", "--wheel")
        written = tomllib.loads((self.dir / "mine/pyproject.toml").read_text())
        version = json.loads(self.ghhost("version", "--json").stdout)
        self.assertEqual(written["project"]["name"], "ghhost-mine")
        self.assertEqual(written["project"]["dependencies"], [f"ghhost >= {version['ghhost']}, < 2", f"torch == {version['torch']}"])
        self.assertEqual(written["tool"]["scikit-build"]["cmake"]["define"]["GH_PLUGIN_INSTALL_DIR"], "ghhost_plugins")

    def test_the_sdk_of_a_tree_that_has_none_is_an_error(self):
        self.assertIn("make install", self.ghhost("sdk", "--cmake-dir", expect=66).stderr)
        recipes = pathlib.Path(self.ghhost("sdk", "--recipes-dir").stdout.strip())
        self.assertEqual((recipes / "toy.toml").read_bytes(), TOY.read_bytes())

    def test_a_missing_recipe_is_named(self):
        done = self.ghhost("run", "nowhere.toml", expect=78)
        self.assertIn("nowhere.toml", done.stderr)

    def test_check_reports_every_mistake_at_once(self):
        recipe = self.write("bad.toml", self.flat_toy(("projector", "projectr"), ("epochs = ", 'epochs = "many" # '),
                                                      ('id = "mlp"', 'id = "mpl"')))
        done = self.ghhost("check", recipe, expect=78)
        self.assertEqual(len(re.findall(r"bad\.toml:\d+:\d+: error", done.stderr)), 3, done.stderr)
        self.assertIn("did you mean", done.stderr)
        self.assertIn("mlp", done.stderr)
        found = json.loads(self.ghhost("check", recipe, "--json", expect=78).stdout)
        self.assertFalse(found["ok"])
        self.assertEqual(len(found["diagnostics"]), 3)

    def test_check_touches_nothing(self):
        self.ghhost("check", TOY)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_the_documented_keys_are_the_keys(self):
        self.assertIn(self.ghhost("keys").stdout.rstrip(), (SOURCE / "docs/recipes.md").read_text())

    def test_version_names_its_parts(self):
        version = json.loads(self.ghhost("version", "--json").stdout)
        for key in ("ghhost", "sdk", "torch", "compiler", "cpu"):
            self.assertTrue(version[key])


class Plugins(GhhostCase):
    def test_list_runs_no_plugin_code_and_names_components(self):
        listed = json.loads(self.ghhost("plugins", "list", "--json").stdout)
        provided = [component for file in listed for component in file.get("provides", [])]
        for component in ("ssl/simclr", "ssl/focal", "structure/orthogonal", "structure/etf", "allocator/sinkhorn", "dataset/toy2d",
                          "backbone/mlp", "evaluator/circle"):
            self.assertIn(component, provided)

    def test_info_prints_a_block_that_can_be_pasted(self):
        text = self.ghhost("plugins", "info", "simclr").stdout.split("\n\n")[1]  # the first component's
        block = "\n".join(line for line in text.splitlines() if re.match(r"\s*[a-z_]+ = ", line))
        recipe = self.flat_toy()
        start = recipe.index("[method]")
        end = recipe.index("\n[", start)
        pasted = self.write("pasted.toml", recipe[:start] + "[method]\n" + block + "\n\n" + recipe[end:])
        self.ghhost("check", pasted)

    def test_an_unknown_component_lists_what_there_is(self):
        done = self.ghhost("check", TOY, "method.id=simcrl", expect=78)
        self.assertIn("simclr", done.stderr)
        done = self.ghhost("plugins", "info", "nothing", expect=78)
        self.assertIn("nothing", done.stderr)

    def test_a_broken_plugin_beside_the_good_ones_does_not_stop_a_run(self):
        (self.dir / "more").mkdir(mode=0o755)
        (self.dir / "more/broken.so").write_text("#!/bin/sh\n")
        self.run_toy("a", env={"GHHOST_PLUGIN_PATH": str(self.dir / "more")})
        listed = self.ghhost("plugins", "list", env={"GHHOST_PLUGIN_PATH": str(self.dir / "more")}).stdout
        self.assertIn("not_elf", listed)

    def test_the_convolution_that_a_recipe_chooses_is_the_one_that_computes(self):
        recipe = SOURCE / "plugins/backbones/resnet/recipe.toml"
        losses = {}
        for mode in ("onednn", "fast", "exact"):
            self.ghhost("run", recipe, f"train.convolution='{mode}'", "train.epochs=1", "train.optimizer.lr=1e-12", "--out", self.dir / mode)
            losses[mode] = self.metrics(self.dir / mode)[0]["loss"]
            self.assertAlmostEqual(losses[mode], losses["onednn"], delta=1e-3 * losses["onednn"])
        if not json.loads((self.dir / "fast/environment.json").read_text())["convolution_kernels"]:
            self.skipTest("this processor has no kernels of ours: all modes are LibTorch's")
        self.assertEqual(len(set(losses.values())), 3, losses)


if __name__ == "__main__":
    unittest.main(verbosity=2)
