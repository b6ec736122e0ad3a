"""What the integration tests share: ghhost as its user types it, in a directory of its own."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GHHOST = pathlib.Path(os.environ.get("GHHOST", SOURCE / "build/bin/ghhost"))
TOY = SOURCE / "recipes/toy.toml"
# Pictures, in seconds; nothing is learned from them.
SHAPES = SOURCE / "plugins/ssl/simclr/recipe.toml"
# Ten epochs, five of them warm-up: enough to pass through every phase.
SHORT = ["train.epochs=10", "harmonize.warm_up=5"]


class GhhostCase(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def ghhost(self, *arguments, expect=0, env=None):
        """Runs ghhost in the test's directory and checks its exit code."""
        done = subprocess.run([GHHOST, *map(str, arguments)], cwd=self.dir, capture_output=True, text=True, timeout=300,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def run_toy(self, out, *overrides, **options):
        self.ghhost("run", TOY, *SHORT, *overrides, "--out", self.dir / out, **options)
        return self.dir / out

    def flat_toy(self, *replacements):
        """The toy recipe in one text, every default included, with replacements made."""
        text = self.ghhost("check", TOY, "--resolved").stdout
        for old, new in replacements:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def metrics(self, run):
        return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def state(self, run):
        """The newest checkpoint, as bytes."""
        return sorted((run / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes()

    def status(self, run):
        return json.loads((run / "status.json").read_text())

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path
