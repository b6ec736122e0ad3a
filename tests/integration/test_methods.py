"""Every bundled SSL method by its own small recipe, with GH: killed and resumed, and on two ranks."""
import array
import json
import os
import socket
import subprocess
import unittest

from ghhost_case import GHHOST, SOURCE
from test_resume import OFTEN, ResumeCase

GH = ('harmonize={warm_up=1, ramp=0, prior={refresh=1}, structure={id="etf", points=8}, '
      'allocator={id="sinkhorn", iterations=20}}')
# Few steps of plain descent: Adam would make steps of what rounding leaves of a gradient that is zero.
GENTLE = ['train.dtype="float64"', 'train.optimizer={id="sgd", lr=0.01}', "train.batch=64", "data.per_class=60", "train.epochs=5",
          'train.device="cpu"', "~eval"]


def recipes():
    """Method → its recipe, plugins/ssl/<plugin>/recipe.toml or, of a plugin's further methods, <method>.toml."""
    listed = json.loads(subprocess.run([GHHOST, "plugins", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    found = {}
    for plugin in listed:
        for kind, method in (provided.split("/") for provided in plugin["provides"]):
            folder = SOURCE / "plugins/ssl" / plugin["name"]
            own = folder / f"{method}.toml"
            if kind == "ssl":
                found[method] = own if own.exists() else folder / "recipe.toml"
    return found


def doubles(checkpoint):
    """Name → values of all tensors of type float64."""
    raw = checkpoint.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__")
    found = {}
    for name, tensor in header.items():
        if tensor["dtype"] == "F64":
            begin, end = tensor["data_offsets"]
            found[name] = array.array("d", raw[8 + size + begin:8 + size + end])
    return found


class Methods(ResumeCase):
    def test_there_is_a_recipe_for_every_method(self):
        found = recipes()
        self.assertIn("simclr", found)
        for method, recipe in found.items():
            resolved = self.ghhost("check", recipe, "--resolved").stdout
            self.assertRegex(resolved, rf'\[method\](.*\n)+?id = "{method}"', recipe)

    def test_a_killed_run_of_every_method_ends_as_one_that_was_never_killed(self):
        for method, recipe in recipes().items():
            with self.subTest(method):
                arguments = [recipe, GH, *OFTEN]
                whole, run = self.dir / f"{method} whole", self.dir / f"{method} killed"
                self.ghhost("run", *arguments, "--out", whole)
                total = self.metrics(whole)[-1]["step"]
                # In the warm-up, and with GH; each time within an epoch.
                for step in (3, total // 2 + 1):
                    process = self.start("run", *arguments, "--out", run, "--resume")
                    self.wait_for_checkpoint(run, process, step)
                    self.kill(run, process)
                self.ghhost("run", *arguments, "--out", run, "--resume")
                self.assert_same_run(whole, run)

    def test_every_method_logs_the_same_things_about_its_learning(self):
        for method, recipe in recipes().items():
            with self.subTest(method):
                run = self.dir / method
                self.ghhost("run", recipe, GH, "train.epochs=2", "--out", run)
                for row in self.metrics(run):
                    for name in ("loss_base", "unit_std", "effective_rank", "alignment", "uniformity"):
                        self.assertIsInstance(row[name], (int, float), name)
                self.assertIn("loss_gh", row)
                if "loss_pruned" not in row:  # two losses a step, and GH in both
                    self.assertAlmostEqual(row["loss"], row["loss_base"] + row["gh_weight"] * row["loss_gh"], places=4)

    def ranks(self, *arguments):
        """Two processes that meet, as a launcher would start them."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        processes = [subprocess.Popen([GHHOST, *map(str, arguments)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                           "MASTER_PORT": str(port)})
                     for rank in range(2)]
        said = [process.communicate(timeout=300)[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], said)

    def test_two_ranks_make_the_steps_of_one_process(self):
        for method, recipe in recipes().items():
            with self.subTest(method):
                one, two = self.dir / f"{method} one", self.dir / f"{method} two"
                self.ghhost("run", recipe, GH, *GENTLE, "--out", one)
                self.ranks("run", recipe, GH, *GENTLE, "--out", two)
                self.assertGreaterEqual(self.metrics(one)[-1]["step"], 15)
                a, b = (doubles(sorted((run / "checkpoints").glob("step-*"))[-1]) for run in (one, two))
                a, b = ({k: v for k, v in found.items() if not k.startswith("host.")} for found in (a, b))
                self.assertEqual(set(a), set(b))
                self.assertGreater(len(a), 0)
                for name, values in a.items():
                    self.assertLess(max(abs(x - y) for x, y in zip(values, b[name])), 1e-9, name)
                for x, y in zip(self.metrics(one), self.metrics(two)):
                    for name in ("loss", "loss_base", "unit_std", "effective_rank", "uniformity"):
                        self.assertAlmostEqual(x[name], y[name], delta=1e-9, msg=name)


if __name__ == "__main__":
    unittest.main()
