"""Several processes, started by the real torchrun."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
import zlib

from ghhost_case import GHHOST, SHAPES, SOURCE, TOY, GhhostCase

try:
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RESNET = SOURCE / "plugins/backbones/resnet/recipe.toml"
SMALL = ["backbone.width=4", "train.batch=128", "train.epochs=2", 'train.device="cpu"', "train.threads=1", "loader.threads=1"]
FEW = 'data.longtail={law="counts", counts=[60, 50, 40, 30, 20, 18, 14, 10, 8, 6]}'  # 256
GH = ['harmonize={warm_up=1, ramp=0, prior={refresh=1}, structure={id="etf", points=8}, allocator={id="sinkhorn", iterations=20}}']


CARELESS = GHHOST.parent.parent / "tests/zoo/plugins/zoo_careless.so"
SHORT_TOY = [TOY, "train.epochs=3", "harmonize.warm_up=1", "train.batch=64"]


def grey_png(side, level):
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress((b"\0" + bytes([level]) * side) * side)) + chunk(b"IEND", b""))


class ByHand(GhhostCase):
    """Ranks that are given different things, which no launcher does."""

    def ranks(self, *arguments, world=(2, 2)):
        """Starts a rank for each list of arguments; exit codes and what they said."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        processes = [subprocess.Popen([str(GHHOST), *map(str, own)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world[rank]), "MASTER_ADDR": "127.0.0.1",
                                           "MASTER_PORT": str(port)})
                     for rank, own in enumerate(arguments)]
        said = [process.communicate(timeout=120)[1] for process in processes]
        return [process.returncode for process in processes], said

    def assert_refused(self, *arguments, telling):
        codes, said = self.ranks(*arguments)
        self.assertEqual(codes, [78, 78], said)
        for text in said:
            self.assertRegex(text, telling)
        self.assertFalse((self.dir / "run").exists())
        return said

    def test_another_recipe_is_named_by_key_rank_and_values(self):
        whole = ["run", *SHORT_TOY, "--out", self.dir / "run"]
        self.assert_refused(whole, [*whole, "seed=1"], telling="(?m)^  seed: 0 on rank 0, 1 on rank 1$")
        said = self.assert_refused(whole, [*whole, "train.optimizer.lr=0.02", "train.batch=32", "checkpoint.every=2"],
                                   telling="(?m)^  train.optimizer.lr: 0.01 on rank 0, 0.02 on rank 1$")
        for text in said:
            self.assertIn("  train.batch: 64 on rank 0, 32 on rank 1\n", text)
            self.assertIn("  checkpoint.every: ", text)
            self.assertNotIn("seed", text)
        self.assert_refused(whole, [*whole, "~harmonize", 'eval.0.when=["end"]'], telling=r"(?m)^  harmonize\.\S+: .* on rank 0, \(absent\) on rank 1$")

    def test_another_build_of_a_plugin_is_named(self):
        other = self.dir / "simclr.so"
        shutil.copy(GHHOST.parent.parent / "lib/ghhost/plugins/simclr.so", other)
        with open(other, "ab") as file:
            file.write(b"\0")
        whole = ["run", *SHORT_TOY, "--out", self.dir / "run"]
        self.assert_refused(whole, ["--plugin", other, *whole], telling=r"(?m)^  plugin simclr: \S+ sha256:\w+ on rank 0, \S+ sha256:\w+ on rank 1$")

    def test_other_data_are_named_and_the_same_data_elsewhere_are_not(self):
        for place in ("here", "there"):
            for name in ("a", "b"):
                (self.dir / place / "train" / name).mkdir(parents=True)
                for i in range(4):
                    (self.dir / place / "train" / name / f"{i}.png").write_bytes(grey_png(8, 20 * i))
        recipe = self.write("folder.toml", f'''
name = "folder"
data = {{ id = "image_folder", root = "{self.dir}/here" }}
views = {{ preset = "simclr-32" }}
backbone = {{ id = "mlp" }}
method = {{ id = "simclr" }}
train = {{ epochs = 1, batch = 4, threads = 1, optimizer = {{ id = "sgd", lr = 0.1 }} }}
''')
        whole = ["run", recipe, "--out", self.dir / "run"]
        there = [*whole, f"data.root={self.dir}/there"]
        codes, said = self.ranks(whole, there)
        self.assertEqual(codes, [0, 0], said)
        shutil.rmtree(self.dir / "run")
        (self.dir / "there/train/a/1.png").unlink()
        self.assert_refused(whole, there, telling=r"(?m)^  data fingerprint: \S+ on rank 0, \S+ on rank 1$")

    def test_what_only_says_how_a_rank_works_may_differ(self):
        whole = ["run", *SHORT_TOY, "--out", self.dir / "run"]
        codes, said = self.ranks(whole, [*whole, "loader.threads=2", "loader.prefetch=1", "ranks.timeout=50", 'name="other"', 'train.device="cpu"'])
        self.assertEqual(codes, [0, 0], said)

    def test_ranks_begin_with_what_ranks_trained(self):
        arm = ["harmonize.weight=2"]
        for out, more in {"whole": arm, "trunk": ["--until", 2], "fork": [*arm, "--fork", self.dir / "trunk"]}.items():
            line = ["run", TOY, "train.epochs=4", "harmonize.warm_up=2", "train.batch=64", *more, "--out", self.dir / out]
            codes, said = self.ranks(line, line)
            self.assertEqual(codes, [0, 0], said)
        whole, fork = self.dir / "whole", self.dir / "fork"
        self.assertEqual(self.state(whole), self.state(fork))
        self.assertEqual((whole / "metrics.jsonl").read_bytes(), (fork / "metrics.jsonl").read_bytes())
        self.assertIn("begins with 2 epochs", (fork / "train.log").read_text())

    def test_another_number_of_ranks_is_named(self):
        whole = ["run", *SHORT_TOY, "--out", self.dir / "run"]
        codes, said = self.ranks(whole, whole, world=(2, 3))
        self.assertEqual(codes, [78, 78], said)
        for text in said:
            self.assertIn("WORLD_SIZE is ", text)

    def test_state_that_only_one_rank_has_is_named_and_not_saved(self):
        whole = ["--plugin", CARELESS, "run", *SHORT_TOY, "~harmonize", "~method", '+method={id="own_rows", projector="none"}', 'eval.0.when=["end"]',
                 "--out", self.dir / "run"]
        codes, said = self.ranks(whole, whole)
        self.assertEqual(codes, [1, 1], said)
        for text in said:
            self.assertIn("the state of rank 1 is not that of rank 0: method.seen differs", text)
        self.assertEqual(list((self.dir / "run").glob("checkpoints/*")), [])
        self.assertEqual(self.status(self.dir / "run")["state"], "failed")

    def test_running_statistics_may_differ_where_each_rank_has_its_own(self):
        whole = ["run", RESNET, *SMALL, FEW, "train.epochs=1", "ranks.sync_norm=false", "--out", self.dir / "run"]
        codes, said = self.ranks(whole, whole)
        self.assertEqual(codes, [0, 0], said)

    def test_the_console_shows_the_loss_of_the_metrics(self):
        whole = ["run", *SHORT_TOY, "--out", self.dir / "run"]
        codes, said = self.ranks(whole, whole)
        self.assertEqual(codes, [0, 0], said)
        shown = re.findall(r"epoch (\d)/3  loss (\S+)", said[0])
        self.assertEqual(shown, [(str(line["epoch"]), f"{line['loss']:.4f}") for line in self.metrics(self.dir / "run")])


class Ranks(GhhostCase):
    def torchrun(self, *arguments, ranks=2):
        command = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--standalone", f"--nproc-per-node={ranks}", str(GHHOST)]
        return subprocess.Popen([*command, *map(str, arguments)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process, expect=0):
        stdout, stderr = process.communicate(timeout=300)
        self.assertEqual(process.returncode, expect, stdout + stderr)
        return stdout, stderr

    def weights(self, run):
        return load_file(sorted((run / "checkpoints").glob("step-*.safetensors"))[-1])

    def test_two_ranks_make_the_steps_of_one_process(self):
        for name, more in (("plain", []), ("gh", GH), ("kept last batch", ["train.batch=72"])):
            with self.subTest(name):
                # Few and gentle steps: training amplifies rounding.
                settings = [RESNET, *SMALL, 'train.dtype="float64"', "train.optimizer.lr=0.01", FEW, *more]
                one, two = self.dir / f"one {name}", self.dir / f"two {name}"
                self.ghhost("run", *settings, "--out", one)
                stdout, stderr = self.finish(self.torchrun("run", *settings, "--out", two))
                self.assertIn("of 2", stderr)
                self.assertEqual(stdout.count("Report:"), 1, "only the first rank speaks")
                a, b = self.weights(one), self.weights(two)
                a, b = ({k: v for k, v in w.items() if not k.startswith("host.")} for w in (a, b))
                self.assertEqual(set(a), set(b))
                for key, value in a.items():
                    if value.dtype == torch.float64:
                        self.assertLess((value - b[key]).abs().max().item(), 1e-6, key)
                for x, y in zip(self.metrics(one), self.metrics(two)):
                    self.assertAlmostEqual(x["loss"], y["loss"], delta=1e-6)

    def test_a_rank_that_dies_brings_the_others_down_and_the_run_goes_on(self):
        settings = [RESNET, *SMALL, "train.epochs=3", "checkpoint.minutes=1e-9"]
        whole, run = self.dir / "whole", self.dir / "run"
        self.finish(self.torchrun("run", *settings, "--out", whole))
        process = self.torchrun("run", *settings, "--out", run, "--resume")
        deadline = time.monotonic() + 120
        while not list(run.glob("checkpoints/step-00000001*.safetensors")):
            self.assertIsNone(process.poll(), "ended too early")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        victims = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        second = [pid for pid in victims if b"RANK=1\0" in b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                  and b"\0RANK=1\0" in b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes()]
        self.assertEqual(len(second), 1, victims)
        os.kill(int(second[0]), signal.SIGKILL)
        died = time.monotonic()
        stdout, stderr = process.communicate(timeout=120)
        self.assertLess(time.monotonic() - died, 60)
        self.assertNotEqual(process.returncode, 0)
        self.finish(self.torchrun("run", *settings, "--out", run, "--resume"))
        self.assertEqual(self.state(whole), self.state(run))
        self.assertEqual((whole / "metrics.jsonl").read_bytes(), (run / "metrics.jsonl").read_bytes())

    def test_a_signal_stops_all_ranks_at_the_same_step(self):
        settings = [RESNET, *SMALL, "train.epochs=3"]
        whole, run = self.dir / "whole", self.dir / "run"
        self.finish(self.torchrun("run", *settings, "--out", whole))
        process = self.torchrun("run", *settings, "--out", run)
        while not list(run.glob("checkpoints/step-*.safetensors")):
            self.assertIsNone(process.poll(), "ended too early")
            time.sleep(0.005)
        ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(ranks[0]), signal.SIGUSR1)  # one of them is enough
        process.communicate(timeout=120)
        self.assertEqual(self.status(run)["state"], "interrupted")
        self.finish(self.torchrun("run", *settings, "--out", run, "--resume"))
        self.assertEqual(self.state(whole), self.state(run))

    def test_evaluations_do_not_depend_on_how_many_ranks_compute_features(self):
        # 1500 training samples of the probe are three batches of features: two for the first rank, one for the second.
        settings = [SHAPES, "train.epochs=1", "data.per_class=150", 'eval=[{id="knn"}, {id="linear_probe", protocol="fast"}]']
        run, one, two = self.dir / "run", self.dir / "one", self.dir / "two"
        self.ghhost("run", *settings, "--out", run)
        self.ghhost("eval", run, "--out", one)
        self.finish(self.torchrun("eval", run, "--out", two))
        results = [[json.loads(file.read_text()) for file in sorted((out / "results").glob("*.json"))] for out in (one, two)]
        self.assertEqual(len(results[0]), 2)
        for a, b in zip(*results):
            self.assertEqual(a["metrics"], b["metrics"])
            self.assertEqual(a["tables"], b["tables"])

    def test_a_batch_that_cannot_be_shared_out_is_refused(self):
        stdout, stderr = self.torchrun("run", RESNET, *SMALL, "train.batch=63", "--out", self.dir / "run").communicate(timeout=120)
        self.assertIn("cannot be shared out over 2 ranks", stderr)

    def test_contradicting_variables_are_named(self):
        done = self.ghhost("run", RESNET, expect=78, env={"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
        self.assertIn("RANK", done.stderr)


if __name__ == "__main__":
    unittest.main()
