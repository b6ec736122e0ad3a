#!/usr/bin/env python3
"""A plugin that was built with SDK 1.0 and kept (tests/zoo/golden) loads, trains and is resumed as if it had been built today."""
import json
import shutil
import subprocess
import unittest

from ghhost_case import GHHOST, SOURCE, GhhostCase

GOLDEN = SOURCE / "tests/zoo/golden/golden-1.0.so"
TODAY = GHHOST.parent.parent / "tests/zoo/plugins/golden.so"
RECIPE = '''name = "golden"
data = { id = "golden_circle" }
views = { noise = 0.1 }
backbone = { id = "golden_perceptron" }
method = { id = "golden_pull", form = "root", projector = "mlp", embedding = 4 }
train = { epochs = 6, batch = 20, threads = 1, optimizer = { id = "sgd", lr = 0.05 } }
checkpoint = { every = 2 }
[harmonize]
structure = { id = "golden_axes" }
allocator = { id = "golden_softmax" }
warm_up = 2
[[eval]]
id = "golden_length"
'''


class Golden(GhhostCase):
    def setUp(self):
        super().setUp()
        # As others keep it: not writable by anybody else, whatever the clone's umask was.
        self.golden = shutil.copy(GOLDEN, self.dir / "golden.so")
        self.golden.chmod(0o644)

    def inspected(self, plugin):
        done = subprocess.run([GHHOST, "plugins", "info", plugin, "--json"], capture_output=True, text=True)
        return json.loads(done.stdout)

    def require_same_build(self):
        """The kept file belongs to one LibTorch and one compiler; any other host refuses it with that reason, and no other."""
        error = self.inspected(self.golden)["error"]
        if error:
            self.assertEqual(error["code"], "fingerprint", error)
            self.skipTest("this ghhost has another LibTorch or compiler than the kept plugin of SDK 1.0:\n" + error["message"])

    def tensors(self, run):
        """Name → bytes of the newest checkpoint, without what the host keeps of logs."""
        content = self.state(run)
        end = 8 + int.from_bytes(content[:8], "little")
        return {name: content[end + at["data_offsets"][0]:end + at["data_offsets"][1]]
                for name, at in json.loads(content[8:end]).items() if not name.startswith(("__metadata__", "host."))}

    def trained(self, plugin, out):
        self.ghhost("--plugin", plugin, "run", self.write("golden.toml", RECIPE), "--out", self.dir / out)
        return self.dir / out

    def test_it_trains_and_resumes_with_the_bytes_of_todays_build(self):
        self.require_same_build()
        golden, today = self.trained(self.golden, "golden"), self.trained(TODAY, "today")
        self.assertEqual(self.inspected(self.golden)["plugin"]["fingerprint"]["sdk"], "1.0")
        self.assertNotEqual(self.inspected(TODAY)["plugin"]["fingerprint"]["sdk"], "1.0")
        self.assertIn("method.encoder.body.0.weight", self.tensors(golden))
        self.assertEqual(self.tensors(golden), self.tensors(today))
        rows = self.metrics(golden)
        # What is compiled into the plugin logs more today.
        for row, now in zip(rows, self.metrics(today), strict=True):
            self.assertGreater(len(row), 8)
            self.assertEqual(row, {key: now[key] for key in row})
        self.assertEqual(rows[-1]["epoch"], 6)
        self.assertLess(rows[-1]["loss_base"], rows[0]["loss_base"])
        self.ghhost("--plugin", self.golden, "run", self.dir / "golden.toml", "--out", "half", "--until", "3")
        self.ghhost("--plugin", self.golden, "resume", "half")
        self.assertEqual(self.state(self.dir / "half"), self.state(golden))

    def test_a_plugin_of_today_can_be_written_for_1_0(self):
        old = TODAY.with_name("golden_for_1_0.so")
        self.assertEqual(self.inspected(old)["plugin"]["fingerprint"]["sdk"], "1.0")
        self.assertEqual(self.tensors(self.trained(old, "old")), self.tensors(self.trained(TODAY, "today")))

    def test_all_of_it_is_tried_and_its_mistakes_found(self):
        """Both are in its source, and nobody looked for them in 1.0."""
        self.require_same_build()
        report = json.loads(self.ghhost("plugins", "check", self.golden, "--json", expect=78).stdout)
        self.assertEqual({found.split(":")[0] for found in report["violations"]}, {"dataset/golden_circle", "evaluator/golden_length"})
        self.assertEqual(len(report["tried"]), 6)

    def test_of_another_libtorch_it_is_refused(self):
        """The note of the file itself, with one digit changed: nothing of it runs."""
        self.require_same_build()
        bytes_ = self.golden.read_bytes()
        version = self.inspected(self.golden)["plugin"]["fingerprint"]["torch"]
        other = version[:-1] + ("1" if version[-1] == "0" else "0")
        self.assertEqual(bytes_.count(f"\ntorch={version}\n".encode()), 1)
        self.golden.write_bytes(bytes_.replace(f"\ntorch={version}\n".encode(), f"\ntorch={other}\n".encode()))
        self.assertIn("torch", self.ghhost("plugins", "check", self.golden, expect=78).stderr)
        self.assertIn(other, self.ghhost("--plugin", self.golden, "check", self.write("golden.toml", RECIPE), expect=78).stderr)


if __name__ == "__main__":
    unittest.main()
