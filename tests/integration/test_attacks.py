#!/usr/bin/env python3
"""What an attacker or a bad day does, many times: runs killed and stopped at any moment, disks that fill up, checkpoints and
recipes with damage anywhere. Short forms with chosen places are in the tests of each subject; here places are drawn from
GH_TEST_SEED, which a failure prints."""
import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest

from ghhost_case import GHHOST, SOURCE, TOY
from test_resume import LONG, OFTEN, ResumeCase

SEED = os.environ.get("GH_TEST_SEED", "0")
DONE, BAD_FILES, WRITING, STOPPED, BAD_RECIPE = 0, 65, 74, 75, 78


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1 attacks for some ten minutes")
class Attacks(ResumeCase):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(f"{self.id()} {SEED}")

    def sub(self, number):
        return self.subTest(f"GH_TEST_SEED={SEED}, number {number}")

    def whole(self, *arguments):
        """A run that nobody disturbs, and how long it takes."""
        begin = time.monotonic()
        self.ghhost("run", *arguments, "--out", self.dir / "whole")
        return self.dir / "whole", time.monotonic() - begin

    def test_a_hundred_ends_at_any_moment(self):
        arguments = [TOY, *LONG, *OFTEN, "train.batch=64"]
        whole, seconds = self.whole(*arguments)
        for number in range(20):
            with self.sub(number):
                run = self.dir / f"run-{number}"
                for _ in range(5):
                    process = self.start("run", *arguments, "--out", run, "--resume")
                    time.sleep(self.draw.uniform(0, 0.7 * seconds))
                    process.send_signal(self.draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
                    _, errors = process.communicate(timeout=60)
                    # Before it has begun to catch signals, one ends it as it ends any program.
                    self.assertIn(process.returncode, [DONE, STOPPED, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT], errors)
                self.ghhost("run", *arguments, "--out", run, "--resume")
                self.assert_same_run(whole, run)
                shutil.rmtree(run)

    def test_thirty_disks_that_fill_up(self):
        """A limit on the size of files stands for the disk; the checkpoint is larger than any plugin, which must go into memory."""
        arguments = [TOY, *LONG, "backbone.hidden=[8000]"]
        whole, _ = self.whole(*arguments)
        full = len(self.state(whole))
        for number in range(30):
            with self.sub(number):
                run, limit = self.dir / f"run-{number}", self.draw.randrange(full // 2, full)

                def starve(limit=limit):
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

                done = subprocess.run([GHHOST, "run", *map(str, arguments), "--out", run], capture_output=True, text=True,
                                      preexec_fn=starve, timeout=120)
                self.assertEqual(done.returncode, WRITING, done.stderr)
                self.assertEqual([], list((run / "checkpoints").glob("*.tmp")))
                self.ghhost("run", *arguments, "--out", run, "--resume")
                self.assert_same_run(whole, run)
                shutil.rmtree(run)

    def damaged(self, raw):
        at, length = self.draw.randrange(len(raw)), self.draw.choice([1, 8, 4096])
        return self.draw.choice([
            lambda: raw[:at],
            lambda: raw[:at] + bytes([raw[at] ^ 1 << self.draw.randrange(8)]) + raw[at + 1:],
            lambda: raw[:at] + bytes(min(length, len(raw) - at)) + raw[at + length:],
            lambda: raw[:at] + self.draw.randbytes(length) + raw[at:],
            lambda: raw[:at] + raw[at + length:],
            lambda: self.draw.randbytes(8) + raw[8:],
        ])()

    def test_two_hundred_damaged_checkpoints(self):
        arguments = [TOY, *LONG]
        whole, _ = self.whole(*arguments)
        start = self.dir / "start"
        process = self.start("run", *arguments, "--out", start)
        self.wait_for_checkpoint(start, process, 10 * self.metrics(whole)[-1]["step"] // 12)
        self.kill(start, process)
        newest = sorted((start / "checkpoints").glob("step-*.safetensors"))[-1].name
        raw = (start / "checkpoints" / newest).read_bytes()
        for number in range(200):
            with self.sub(number):
                run, content = self.dir / f"run-{number}", self.damaged(raw)
                if content == raw:  # zeros written over zeros
                    continue
                shutil.copytree(start, run)
                (run / "checkpoints" / newest).write_bytes(content)
                done = self.ghhost("resume", run)
                self.assertIn(newest, done.stderr)
                self.assert_same_run(whole, run)
                shutil.rmtree(run)

    def broken(self, text):
        lines = text.splitlines()
        at = self.draw.randrange(len(lines))
        words = ["-1", "0", "1e308", "nan", "-inf", "1000000000000000000", "[]", "{}", '""', "true", '"\\u0000"', "[[1], 2]",
                 "'x'", "1979-05-27", '"' + "a" * 5000 + '"', "[" * 300]
        key = lines[at].split("=")[0]
        lines[at:at + 1] = self.draw.choice([
            lambda: [],
            lambda: [lines[at], lines[at]],
            lambda: [f"{key} = {self.draw.choice(words)}"],
            lambda: [lines[at][:self.draw.randrange(len(lines[at]) + 1)]],
            lambda: [lines[at], self.draw.choice(["[", "[[eval", "[eval]", "x", "[a.b.c]", "= 1", "é = 1", "\x00"])],
            lambda: [lines[at].replace(self.draw.choice("abcdefgh_.=\"[] "), self.draw.choice("xyz_.=\"[] "))],
        ])()
        return "\n".join(lines) + "\n"

    def test_four_hundred_broken_recipes(self):
        texts = [self.ghhost("check", recipe, "--resolved").stdout
                 for recipe in (TOY, SOURCE / "recipes/shapes.toml", SOURCE / "recipes/cifar100-lt/simclr-narrow.toml")]
        for number in range(400):
            with self.sub(number):
                text = self.draw.choice(texts)
                for _ in range(self.draw.choice([1, 1, 1, 2, 5])):
                    text = self.broken(text)
                recipe = self.write("broken.toml", text)
                done = subprocess.run([GHHOST, "check", recipe], cwd=self.dir, capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, [DONE, BAD_FILES, BAD_RECIPE], f"{done.stderr}\n{text}")
                if done.returncode:
                    self.assertIn("broken.toml", done.stderr, text)


if __name__ == "__main__":
    unittest.main()
