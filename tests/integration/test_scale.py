#!/usr/bin/env python3
"""--scale from the command line: what is printed, what is run, what is refused."""
import json
import unittest

from ghhost_case import SOURCE, TOY, GhhostCase


class Scale(GhhostCase):
    def test_a_run_is_shortened_in_proportion_and_says_so(self):
        done = self.ghhost("run", TOY, "--scale", "0.1", "--out", self.dir / "a")
        for line in ("Scaled (0.1):", "  train.epochs: 160 → 16", "  harmonize.warm_up: 40 → 4", "  harmonize.momentum: 0.9 → 0.34867844"):
            self.assertIn(line, done.stderr)
        self.assertEqual(self.status(self.dir / "a")["epochs"], 16)
        # It is a recipe like any other: nothing of the scale is left to know.
        self.ghhost("run", self.dir / "a/recipe.toml", "--out", self.dir / "b")
        self.assertEqual(self.state(self.dir / "a"), self.state(self.dir / "b"))
        self.ghhost("run", TOY, "--scale", "0.1", "--out", self.dir / "a", "--resume")

    def test_methods_data_and_networks_of_plugins_follow(self):
        resolved = self.ghhost("check", SOURCE / "recipes/cifar100-lt/bcl-gh.toml", "--scale", "small", "--resolved").stdout
        for line in ("width = 16", "momentum = 0.4669", "epochs = 40", "keep = 1.0"):
            self.assertIn(line, resolved)
        period = self.ghhost("check", SOURCE / "recipes/cifar100-lt/ts.toml", "--scale", "small", "--resolved").stdout
        self.assertIn("period = 16.0", period)

    def test_what_is_no_scale_is_refused(self):
        for wrong in ("tiny", "0", "-1"):
            self.assertIn("expected a scale", self.ghhost("check", TOY, f"--scale={wrong}", expect=78).stderr)


if __name__ == "__main__":
    unittest.main()
