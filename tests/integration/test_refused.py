"""What cannot work is refused before the first step, with file, line and key; what may surprise is said."""
import array
import json
import unittest

from ghhost_case import GHHOST, SOURCE, GhhostCase

ODD = GHHOST.parent.parent / "tests/zoo/plugins/zoo_odd.so"
RECIPE = '''name = "odd"
data = { id = "zoo_labels" }
views = { count = 2, noise = 0.1 }
backbone = { id = "mlp" }
method = { id = "zoo_aloof", embedding = 2 }
train = { epochs = 3, batch = 20, threads = 1, drop_last = true, optimizer = { id = "sgd", lr = 0.01 } }
[harmonize]
structure = { id = "orthogonal" }
allocator = { id = "sinkhorn" }
warm_up = 2
'''


class OddCase(GhhostCase):
    def odd(self, *words, **options):
        return self.ghhost("--plugin", ODD, *words, **options)

    def refused(self, key, line, says, *overrides, recipe=RECIPE, also=("run",)):
        """`run`, and the commands in `also`, end with 78, naming file, line and key, and leave nothing behind."""
        file = self.write("odd.toml", recipe)
        for words in also:
            out = ["--out", "never"] if words == "run" else []
            done = self.odd(*words.split(), file, *overrides, *out, expect=78)
            self.assertRegex(done.stderr, rf"(?m)^{file if line else '.*'}:{line if line else ''}.*error: {key}: ", words)
            self.assertIn(says, done.stderr)
            self.assertFalse((self.dir / "never").exists())
            self.assertNotIn("c10::", done.stderr)


class Harmonize(OddCase):
    def test_a_projector_with_a_method_that_never_projects(self):
        recipe = RECIPE + 'apply = "projector"\n'
        self.refused("harmonize.apply", 11, "ssl/zoo_aloof never compares", recipe=recipe, also=("run", "check", "data check"))

    def test_a_projector_with_a_method_that_only_says_so_stops_in_the_first_step(self):
        recipe = self.write("odd.toml", RECIPE + 'apply = "projector"\n')
        done = self.odd("run", recipe, 'method.id="zoo_boaster"', "--out", "stopped", expect=78)
        self.assertRegex(done.stderr, "odd.toml:11:.*error: harmonize.apply: ssl/zoo_boaster never compares")
        self.assertFalse((self.dir / "stopped/metrics.jsonl").exists() and self.metrics(self.dir / "stopped"))
        self.assertEqual(self.status(self.dir / "stopped")["state"], "failed")

    def test_joint_targets_of_an_allocator_without_gradient(self):
        recipe = RECIPE.replace("sinkhorn", "argmax") + 'targets = "joint"\n'
        self.refused("harmonize.targets", 11, "argmax gives targets without gradient", recipe=recipe, also=("run", "data check"))


class Conformance(OddCase):
    def check(self, recipe, expect=78):
        done = self.ghhost("plugins", "check", ODD, "--recipe", self.write("tried.toml", recipe), "--json", expect=expect)
        return json.loads(done.stdout)

    def test_components_are_tried_with_what_a_recipe_gives_them(self):
        says = "dataset/zoo_labels: train: expected classes from 0 on, found a negative one"
        found = self.check(RECIPE.replace('"zoo_labels"', '"zoo_labels", fault = "negative"'))
        self.assertTrue(any(line.startswith(says) for line in found["violations"]), found)
        found = self.check(RECIPE)
        self.assertFalse(any("zoo_labels" in line for line in found["violations"]), found)
        self.assertTrue(any(line.startswith("dataset/zoo_labels: train, test: ") for line in found["tried"]), found)

    def test_data_that_the_recipe_has_not_is_a_violation_then(self):
        found = self.check(RECIPE.replace('"zoo_labels"', '"zoo_labels", fault = "no-test"'))
        self.assertTrue(any("the recipe's data is not there: fetch the test" in line for line in found["violations"]), found)

    def test_a_recipe_without_its_components_or_with_mistakes_tries_nothing(self):
        other = RECIPE.replace("zoo_labels", "toy2d").replace("zoo_aloof", "simclr")
        self.assertIn("names no component of zoo_odd", self.check(other)["error"]["message"])
        self.assertIn("bacth", self.check(RECIPE.replace("batch", "bacth"))["error"]["message"])


class Evaluators(OddCase):
    def evaluator(self, text):
        return RECIPE + f"[[eval]]\n{text}\n"

    def test_counts_and_labels_that_cannot_work(self):
        for text, key, line, says in (
                ('id = "knn"\nk = 61', "eval.0.k", 13, "at most the 60 samples of the bank, got 61"),
                ('id = "knn"\nk = 5\nlist = "absent.txt"', "eval.0.list", 14, "absent.txt"),
                ('id = "tsne"\nperplexity = 25.0', "eval.0.perplexity", 13, "60 samples"),
                ('id = "clusters"\npoints = 61', "eval.0.points", 13, "at most the 60 samples"),
                ('id = "uniformity"\nk = 3', "eval.0.k", 13, "less than the 3 classes")):
            self.refused(key, line, says, recipe=self.evaluator(text), also=("run", "data check"))

    def test_a_test_without_labels_with_too_few_classes_or_not_there(self):
        knn = self.evaluator('id = "knn"\nk = 5')
        for fault, says in (("unlabelled-test", "split 'test' has no class labels"), ("two-classes-in-test", "1 of 3 classes"),
                            ("no-test", "split 'test' of the data set cannot be opened")):
            self.refused("eval.0.split", 11, says, f"data.fault={fault}", recipe=knn)
        done = self.odd("run", self.write("odd.toml", knn), "data.fault=no-test", "--out", "never", expect=78)
        self.assertNotIn("internal", done.stderr)
        # Without evaluators nobody misses it.
        self.odd("run", self.write("odd.toml", RECIPE), "data.fault=no-test", "--out", "run")

    def test_a_metric_that_nothing_reports(self):
        recipe = RECIPE + '[checkpoint]\nbest = 1\nmetric = "distanse"\n'
        self.refused("checkpoint.metric", 13, 'did you mean "distance"?', recipe=recipe, also=("run", "check", "data check"))
        for metric in ("distance", "loss", "loss_gh", "points_effective", "allocator_residual"):
            self.odd("check", self.write("odd.toml", recipe), f"checkpoint.metric={metric}")


class Data(OddCase):
    def test_labels_that_cannot_be(self):
        for fault, says in (("float", "int64, the data set gives Float"), ("negative", "sample 5 has the label -1"),
                            ("absurd", "sample 5 has the label 1125899906842624"), ("not-finite", "the target of sample 0 is nan")):
            self.refused("data.id", 2, says, f"data.fault={fault}", also=("run", "data check"))
        knn = RECIPE + '[[eval]]\nid = "knn"\nk = 5\n'
        self.refused("data.id", 2, "split 'test': sample 5", "data.fault=absurd-test", recipe=knn, also=("run", "data check"))

    def test_a_long_tail_of_what_has_no_labels(self):
        text = RECIPE.replace('data = { id = "zoo_labels" }', 'data = { id = "zoo_labels", fault = "none", '
                              'longtail = { law = "exp", ratio = 4.0 } }')
        self.refused("data.longtail.law", 2, "needs class labels", recipe=text, also=("run", "data check"))

    def test_what_a_data_set_says_while_it_opens_is_told_once(self):
        recipe = self.write("odd.toml", RECIPE + '[[eval]]\nid = "knn"\nk = 5\n')
        done = self.odd("run", recipe, "--out", "run")
        for split in ("train", "test"):
            self.assertEqual(done.stderr.count(f"warning: left out 7 files of {split}\n"), 1, done.stderr)
            self.assertIn(f"left out 7 files of {split}", (self.dir / "run/train.log").read_text())
            self.assertEqual(self.odd("data", "check", recipe).stdout.count(f"left out 7 files of {split}"), 1)


class Facts(OddCase):
    def test_a_method_knows_the_recipe_and_warns(self):
        recipe = self.write("odd.toml", RECIPE)
        done = self.odd("run", recipe, "train.convolution=exact", "--out", "a")
        self.assertIn("facts: mode 'reference' apply 'loss' points 4 drop_last 1 sync_norm 1 convolution exact", done.stderr)
        self.assertNotIn("may be short", done.stderr)
        done = self.odd("run", recipe, "train.drop_last=false", "~harmonize", "ranks.sync_norm=false", "--out", "b")
        self.assertIn("facts: mode '' apply '' points 0 drop_last 0 sync_norm 0 convolution auto", done.stderr)
        self.assertIn("warning: train.drop_last: ssl 'zoo_aloof': a last batch may be short", done.stderr)
        self.assertIn("a last batch may be short", (self.dir / "b/train.log").read_text())


class OwnLayers(OddCase):
    RESNET = SOURCE / "plugins/backbones/resnet/recipe.toml"
    STILL = ["train.epochs=1", "data.per_class=16", "train.batch=32", "train.optimizer.lr=1e-12", "train.threads=1"]

    def run_resnet(self, out, *overrides, **options):
        return self.odd("run", self.RESNET, *self.STILL, *overrides, "--out", out, **options).stderr

    def test_weights_go_through_names_of_the_methods_own_or_are_refused(self):
        self.run_resnet("plain")
        self.odd("export", "plain", "--out", "plain.safetensors")
        halved = ['method={id="zoo_halved"}', "backbone.weights=plain.safetensors"]
        self.assertRegex(self.run_resnet("halved", *halved), r"weights: (\d+) of \1 tensors")
        self.odd("export", "halved", "--out", "halved.safetensors")
        a, b = ((self.dir / f"{name}.safetensors").read_bytes() for name in ("plain", "halved"))
        self.assertLess(max(abs(x - y) for x, y in zip(self.weights(a), self.weights(b))), 1e-6)

        done = self.run_resnet("never", *halved, "method.loads=false", expect=78)
        self.assertIn("backbone.weights: ", done)
        self.assertIn("gh::EncoderLoader", done)
        self.assertFalse((self.dir / "never").exists())

    def weights(self, file):
        """Of the first convolution."""
        size = int.from_bytes(file[:8], "little")
        begin, end = json.loads(file[8:8 + size])["conv1.weight"]["data_offsets"]
        return array.array("f", file[8 + size + begin:8 + size + end])

    def test_weights_of_another_depth_are_refused_with_the_names(self):
        deeper = 'backbone={id="resnet34", width=8, stem="small"}'
        self.run_resnet("deep", deeper)
        self.odd("export", "deep", "--out", "deep.safetensors")
        done = self.run_resnet("never", "backbone.weights=deep.safetensors", expect=78)
        self.assertRegex(done, "backbone.weights: .*another architecture.*layer1.2.conv1.weight")
        self.run_resnet("plain")
        self.odd("export", "plain", "--out", "plain.safetensors")
        done = self.run_resnet("never", deeper, "backbone.weights=plain.safetensors", expect=78)
        self.assertRegex(done, "backbone.weights: .*lacks layer1.2.conv1.weight")

    def test_a_convolution_that_does_not_reach_the_methods_layers_is_said(self):
        halved = 'method={id="zoo_halved"}'
        said = 'train.convolution = "exact" does not reach'
        self.assertIn(said, self.run_resnet("a", halved, "method.follows=false", "train.convolution=exact"))
        self.assertNotIn(said, self.run_resnet("b", halved, "train.convolution=exact"))
        self.assertNotIn("does not reach", self.run_resnet("c", halved, "method.follows=false"))
        self.assertNotIn("does not reach", self.run_resnet("d", "train.convolution=exact"))


if __name__ == "__main__":
    unittest.main()
