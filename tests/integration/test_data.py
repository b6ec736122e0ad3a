"""Pictures: data commands, and runs on the drawn shapes and on files made here."""
import json
import os
import pathlib
import re
import shutil
import unittest

from ghhost_case import GHHOST, SHAPES, SOURCE, GhhostCase

SMALL = ["data.per_class=20", "data.test_per_class=5", "data.longtail.ratio=4", "train.epochs=2", "train.batch=16",
         "train.threads=1"]
ZOO = GHHOST.parent.parent / "tests/zoo/plugins/zoo_good.so"


def small_jpeg():
    """A grey 8×8 baseline JPEG: tables of the standard's annex K, one block whose coefficients are all zero."""
    luma = bytes([16] * 64)
    dc_bits, dc_values = bytes([0, 1, 5, 1, 1, 1, 1, 1, 1] + [0] * 7), bytes(range(12))
    ac_bits, ac_values = bytes([1] + [0] * 15), bytes([0])
    segment = lambda marker, body: bytes([0xff, marker]) + (len(body) + 2).to_bytes(2, "big") + body
    return (b"\xff\xd8" + segment(0xdb, b"\0" + luma) + segment(0xc0, bytes([8, 0, 8, 0, 8, 1, 1, 0x11, 0])) +
            segment(0xc4, b"\0" + dc_bits + dc_values) + segment(0xc4, b"\x10" + ac_bits + ac_values) +
            segment(0xda, bytes([1, 1, 0, 0, 63, 0])) + bytes([0b00011111]) + b"\xff\xd9")


class ImageFolder(GhhostCase):
    def setUp(self):
        super().setUp()
        self.root = self.dir / "pictures"
        for split, count in (("train", 6), ("test", 2)):
            for name in ("ant", "bee"):
                folder = self.root / split / name
                folder.mkdir(parents=True)
                for i in range(count):
                    (folder / f"{i}.jpg").write_bytes(small_jpeg())
        self.recipe = self.write("folder.toml", f'''
name = "folder"
data = {{ id = "image_folder", root = "{self.root}" }}
views = {{ preset = "simclr-32" }}
backbone = {{ id = "mlp" }}
method = {{ id = "simclr" }}
train = {{ epochs = 2, batch = 4, threads = 1, optimizer = {{ id = "sgd", lr = 0.1 }} }}
''')

    def break_one(self):
        victim = self.root / "train/bee/3.jpg"
        victim.write_bytes(victim.read_bytes()[:-10])
        return victim

    def test_check_counts_and_reads(self):
        done = self.ghhost("data", "check", self.recipe)
        self.assertIn("train: 12 samples", done.stdout)
        self.assertIn("2 classes of 6 samples each", done.stdout)
        self.assertIn("every sample can be read", done.stdout)
        train, test = json.loads(self.ghhost("data", "check", self.recipe, "--json").stdout)
        self.assertEqual((train["samples"], test["samples"]), (12, 4))
        self.assertEqual(train["class_counts"], [6, 6])
        self.assertEqual(train["pictures"]["largest_side"], 8)
        self.assertRegex(train["fingerprint"], "^sha256:[0-9a-f]{64}$")

    def test_check_names_a_broken_file_and_goes_on(self):
        victim = self.break_one()
        (self.root / "train/ant/0.jpg").write_bytes(b"")
        (self.root / "test/ant/0.jpg").write_bytes(b"<html>not here</html>")
        done = self.ghhost("data", "check", self.recipe, expect=65)
        self.assertIn("2 of 12 samples cannot be read", done.stdout)
        self.assertRegex(done.stdout, re.escape(str(victim)) + ": .*truncated")
        self.assertIn("0.jpg is empty", done.stdout)
        self.assertIn("HTML", done.stdout)
        self.ghhost("data", "check", self.recipe, "--quick")

    def test_a_broken_file_stops_a_run_with_its_name_and_leaves_the_directory(self):
        victim = self.break_one()
        done = self.ghhost("run", self.recipe, "--out", self.dir / "run", expect=74)
        self.assertIn(str(victim), done.stderr)
        self.assertEqual(self.status(self.dir / "run")["state"], "failed")

    def test_a_broken_file_can_be_skipped_and_is_counted(self):
        victim = self.break_one()
        runs = []
        for threads in (1, 3):
            runs.append(self.dir / f"run{threads}")
            done = self.ghhost("run", self.recipe, "loader.on_error=skip", f"loader.threads={threads}", "--out", runs[-1])
            self.assertEqual(done.stderr.count(str(victim)), 1)
        self.assertEqual([line["skipped"] for line in self.metrics(runs[0])], [1, 1])
        self.assertEqual(self.metrics(runs[0]), self.metrics(runs[1]))

    def test_the_message_that_stops_a_run_says_how_to_go_on_and_resume_may(self):
        victim, run, other = self.break_one(), self.dir / "run", self.dir / "other"
        done = self.ghhost("run", self.recipe, "--out", run, expect=74)
        self.assertIn('loader.on_error = "skip"', done.stderr)
        self.assertIn("ghhost data check", done.stderr)
        done = self.ghhost("resume", run, "train.batch=2", expect=78)
        self.assertIn("train.batch", done.stderr)
        done = self.ghhost("resume", run, "loader.on_error=skip", "train.threads=2")
        self.assertEqual(done.stderr.count(str(victim)), 1)
        self.assertEqual(self.status(run)["state"], "finished")
        self.ghhost("run", self.recipe, "loader.on_error=skip", "train.threads=2", "--out", other)
        self.assertEqual(self.metrics(run), self.metrics(other))

    def test_neighbours_of_a_broken_file_are_counted_once(self):
        # Each looks for the next readable one, so that they meet each other.
        for name in ("2.jpg", "3.jpg", "4.jpg"):
            (self.root / "train/bee" / name).write_bytes(b"")
        done = self.ghhost("run", self.recipe, "loader.on_error=skip", '+eval={id="alignment", split="train"}',
                           "--out", self.dir / "run")
        self.assertEqual([line["skipped"] for line in self.metrics(self.dir / "run")], [3, 3])
        self.assertEqual([done.stderr.count(f"bee/{i}.jpg is empty") for i in (2, 3, 4)], [1, 1, 1])

    def test_pictures_of_an_evaluation_and_previews_pass_over_a_broken_file(self):
        for split in ("train", "test"):
            (self.root / split / "ant/0.jpg").write_bytes(b"")
        skip = "loader.on_error=skip"
        self.ghhost("run", self.recipe, skip, '+eval={id="knn", k=1, split="test"}', "--out", self.dir / "run")
        done = self.ghhost("data", "preview", self.recipe, "--out", "sheet.html", expect=74)
        self.assertIn('loader.on_error = "skip"', done.stderr)
        self.ghhost("data", "preview", self.recipe, skip, "--out", "sheet.html")
        self.assertIn("sample 1 (train/ant/1.jpg), ant", (self.dir / "sheet.html").read_text())

    def test_files_that_a_list_names_and_nobody_has_stop_a_run_or_are_skipped(self):
        names = sorted(str(path.relative_to(self.root)) for path in self.root.glob("train/*/*.jpg"))
        self.write("list.txt", "".join(f"{name} {int('bee' in name)}\n" for name in names + ["train/ant/gone.jpg"]))
        data = f'data={{id="image_list", root="{self.root}", train="{self.dir / "list.txt"}"}}'
        done = self.ghhost("run", self.recipe, data, "--out", self.dir / "a", expect=66)
        self.assertIn("1 of 13 files", done.stderr)
        self.assertIn('loader.on_error = "skip"', done.stderr)
        self.assertFalse((self.dir / "a").exists())
        done = self.ghhost("run", self.recipe, data, "loader.on_error=skip", "train.batch=13", "--out", self.dir / "b")
        self.assertIn("1 of 13 files", done.stderr)
        self.assertEqual([line["skipped"] for line in self.metrics(self.dir / "b")], [1, 1])
        self.ghhost("data", "check", self.recipe, data, "--quick", expect=66)
        done = self.ghhost("data", "check", self.recipe, data, expect=65)
        self.assertIn("1 of 13 samples cannot be read", done.stdout)
        self.assertIn("gone.jpg", done.stdout)

    def test_what_a_folder_leaves_out_is_said(self):
        for i in range(5):
            (self.root / f"train/ant/{i}.webp").write_bytes(b"x")
        (self.root / "train/bee/.hidden.jpg").write_bytes(b"x")
        (self.root / "train/bee/up").symlink_to(self.root / "train", target_is_directory=True)
        done = self.ghhost("data", "check", self.recipe)
        self.assertIn("train: 12 samples", done.stdout)
        self.assertIn("5 of 17 files were left out for their endings: 5 .webp", done.stdout)
        self.assertIn("'train/bee/up'", done.stdout)
        self.assertIn("1 hidden", done.stdout)
        self.assertIn('fingerprint = "content"', done.stdout)
        train, test = json.loads(self.ghhost("data", "check", self.recipe, "--quick", "--json").stdout)
        self.assertEqual(len(train["notices"]), 4)
        self.assertEqual(len(test["notices"]), 1)
        done = self.ghhost("run", self.recipe, "train.epochs=1", "--out", self.dir / "run")
        self.assertIn("5 .webp", done.stderr)
        self.assertIn("1 hidden", (self.dir / "run/train.log").read_text())

    def test_a_fingerprint_of_contents_changes_with_a_byte(self):
        prints = lambda *more: json.loads(self.ghhost("data", "check", self.recipe, "--quick", "--json", *more).stdout)[0]["fingerprint"]
        content = "data.fingerprint=content"
        before = prints(), prints(content)
        victim = self.root / "train/bee/3.jpg"
        victim.write_bytes(victim.read_bytes()[:-1] + b"\xd8")
        self.assertEqual(prints(), before[0])
        self.assertNotEqual(prints(content), before[1])

    def test_names_may_be_any_bytes_and_none_reaches_the_terminal_as_an_order(self):
        odd = os.fsdecode(b"b\xff\x1b[31m\xc2\x9b")
        for split in ("train", "test"):
            (self.root / split / "bee").rename(self.root / split / odd)
        (self.root / "train" / odd / "5.jpg").unlink()
        run = self.dir / os.fsdecode(b"run\xfe\x1b]0;x\x07")
        done = self.ghhost("run", self.recipe, 'name="fol\\u001b[32mder"', '+eval={id="knn", k=1, split="test"}', "--out", run)
        check = self.ghhost("data", "check", self.recipe)
        self.assertIn("b\\xff\\x1b[31m\\xc2\\x9b", check.stdout.replace("\ufffd", "\\xff"))
        report = self.ghhost("report", run, "--format", "markdown")
        for text in (done.stdout, done.stderr, check.stdout, report.stdout, (run / "train.log").read_text()):
            for order in ("\x1b", "\x07", "\x9b"):
                self.assertNotIn(order, text)
        self.assertEqual(self.status(run)["state"], "finished")
        for file in [*run.glob("*.json"), *run.glob("results/*.json")]:
            json.loads(file.read_text("utf-8"))
        (run / "report.html").read_text("utf-8")
        outcome = json.loads(self.ghhost("data", "check", self.recipe, "--json").stdout)
        self.assertEqual(outcome[0]["samples"], 11)

    def test_a_run_that_fails_at_a_file_of_any_name_says_so_in_its_status(self):
        victim = (self.root / "train/ant/5.jpg").rename(self.root / "train/ant" / os.fsdecode(b"\xff.jpg"))
        victim.write_bytes(b"")
        done = self.ghhost("run", self.recipe, "--out", self.dir / "run", expect=74)
        self.assertIn("\\xff.jpg is empty", done.stderr)
        self.assertEqual(self.status(self.dir / "run")["state"], "failed")

    def test_what_was_learnt_survives_an_evaluation_that_fails(self):
        (self.root / "test/bee/1.jpg").write_bytes(b"no picture")
        run = self.dir / "run"
        done = self.ghhost("run", self.recipe, '+eval={id="circle", split="test"}', "backbone.features=2",
                           'method.projector="none"', "--out", run, expect=3)
        self.assertIn("1.jpg: neither JPEG nor PNG", done.stderr)
        self.assertEqual(self.status(run)["state"], "finished")
        self.assertGreater(len(self.state(run)), 1000)

    def test_what_is_missing_is_said_before_training(self):
        self.recipe.write_text(self.recipe.read_text().replace(str(self.root), str(self.dir / "nowhere")))
        done = self.ghhost("run", self.recipe, "--out", self.dir / "run", expect=66)
        self.assertIn("nowhere", done.stderr)
        self.assertFalse((self.dir / "run").exists())
        self.ghhost("data", "check", self.recipe, expect=66)

    def test_pictures_without_a_size_are_refused_with_advice(self):
        done = self.ghhost("run", self.recipe, "~views", expect=78)
        self.assertIn('views.preset = "simclr-32"', done.stderr)

    def test_preview_is_one_page_of_pictures(self):
        done = self.ghhost("data", "preview", self.recipe, "--samples", "2", "--epochs", "3", "--out", "sheet.html")
        page = (self.dir / "sheet.html").read_text()
        self.assertEqual(done.stdout.strip(), str(self.dir / "sheet.html"))
        self.assertEqual(page.count("data:image/png;base64,"), 2 * (1 + 3 * 2))
        self.assertIn("ant (6 samples), 8 × 8", page)
        self.assertNotIn("://", re.sub(r"base64,[^\"]*", "", page))


class Shapes(GhhostCase):
    def run_shapes(self, out, *overrides, **options):
        self.ghhost("run", SHAPES, *SMALL, *overrides, "--out", self.dir / out, **options)
        return self.dir / out

    def test_loader_threads_and_prefetch_change_nothing(self):
        a = self.run_shapes("a", "loader.threads=1", "loader.prefetch=1")
        b = self.run_shapes("b", "loader.threads=4", "loader.prefetch=7")
        self.assertEqual(self.state(a), self.state(b))
        self.assertEqual(self.metrics(a), self.metrics(b))
        time = json.loads((a / "timing.jsonl").read_text().splitlines()[0])
        self.assertGreaterEqual(time["waited_for_data"], 0)

    def test_the_choice_of_samples_is_saved_and_can_be_used_again(self):
        a = self.run_shapes("a")
        data = json.loads((a / "data.json").read_text())
        self.assertRegex(data["chosen_fingerprint"], "^sha256:")
        self.assertEqual(len(data["chosen"]), data["samples"])
        again = f'data.longtail={{law="file", file="{a / "data.json"}"}}'
        overrides = [o for o in SMALL if "longtail" not in o]
        self.ghhost("run", SHAPES, *overrides, again, "--out", self.dir / "b")
        self.assertEqual(self.state(a), self.state(self.dir / "b"))

    def test_the_resolved_recipe_with_its_views_runs_again_to_the_same_end(self):
        a = self.run_shapes("a", "views.blur={p=0.5}", "views.crop.filter=bicubic")
        self.ghhost("run", a / "recipe.toml", "--out", self.dir / "b")
        self.assertEqual(self.state(a), self.state(self.dir / "b"))

    def test_what_a_method_publishes_reaches_the_views_of_the_next_epoch(self):
        # Nothing but boosted operations is random, so that the views of a sample differ only if it is boosted.
        recipe = self.write("boost.toml", '''
name = "boost"
data = { id = "shapes", classes = 4, per_class = 20 }
views = { count = 2, size = 32, crop = { id = "whole" }, boost = { ops = 3, chance = "weight" } }
backbone = { id = "mlp" }
method = { id = "zoo_booster" }
train = { epochs = 3, batch = 80, threads = 1, optimizer = { id = "sgd", lr = 0.01 } }
''')
        self.ghhost("--plugin", ZOO, "run", recipe, "--out", self.dir / "run")
        first, second, third = self.metrics(self.dir / "run")
        self.assertEqual((first["even_differ"], first["odd_differ"]), (0, 0))
        for later in (second, third):
            self.assertGreater(later["even_differ"], 30)
            self.assertEqual(later["odd_differ"], 0)
        self.assertIn(b"host.strength", self.state(self.dir / "run")[:20000])

    def test_boosted_views_without_a_method_that_publishes_are_warned_of(self):
        done = self.ghhost("run", SHAPES, *SMALL, "views.preset=bcl-32", "--out", self.dir / "a")
        self.assertEqual(done.stderr.count("publishes no"), 1)

    def test_multi_crop_reaches_a_method_that_takes_it_or_is_refused(self):
        done = self.ghhost("run", SHAPES, *SMALL, "views={preset=\"swav-multicrop\"}", "--out", self.dir / "a", expect=78)
        self.assertIn("views", done.stderr)

    def test_vectors_have_no_pictures_to_preview(self):
        done = self.ghhost("data", "preview", SOURCE / "recipes/toy.toml", expect=1)
        self.assertIn("vectors", done.stderr)
        self.assertIn("train: ", self.ghhost("data", "check", SOURCE / "recipes/toy.toml").stdout)

    def test_recipes_of_the_plugins_are_valid(self):
        for recipe in sorted((SOURCE / "plugins").glob("*/*/*.toml")):
            self.ghhost("check", recipe)


class RealData(GhhostCase):
    """The data that lie beside the repository during development; skipped elsewhere."""

    def setUp(self):
        super().setUp()
        self.data = pathlib.Path(os.environ.get("GH_DATA", SOURCE.parent / "shared/data"))

    def unpack(self, name):
        if not (self.data / name).exists():
            self.skipTest(f"{name} is not in {self.data}; set GH_DATA")
        shutil.unpack_archive(self.data / name, self.dir / "data")

    def test_cub_sample(self):
        self.unpack("cub-200-longtail-sample.tar")
        recipe = SOURCE / "plugins/datasets/image_files/recipe.toml"
        train, test = json.loads(
            self.ghhost("data", "check", recipe, f"data.root={self.dir / 'data'}", "--json").stdout)
        self.assertEqual((train["samples"], len(train["class_counts"]), train["unreadable"]), (224, 20, []))
        self.assertEqual((max(train["class_counts"]), min(train["class_counts"])), (30, 2))
        self.assertEqual((test["samples"], test["unreadable"]), (100, []))

    def test_cifar_100(self):
        self.unpack("cifar-100-binary.tar.xz")
        recipe = SOURCE / "plugins/datasets/cifar/recipe.toml"
        for ratio, samples in ((100, 10847), (50, 12608), (10, 19573)):
            train, test = json.loads(self.ghhost("data", "check", recipe, f"data.root={self.dir / 'data'}",
                                                 f"data.longtail.ratio={ratio}", "--quick", "--json").stdout)
            self.assertEqual((train["samples"], test["samples"]), (samples, 10000))
            self.assertEqual((train["class_counts"][0], train["class_counts"][99]), (500, 500 // ratio))
            self.assertIn(f"R = {ratio} published with GH", train["chosen_known_as"])


if __name__ == "__main__":
    unittest.main()
