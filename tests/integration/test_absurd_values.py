"""Values that no machine could serve are refused before anything is made of them."""
import json
import unittest

from ghhost_case import SOURCE, TOY, GhhostCase

RESNET = SOURCE / "plugins/backbones/resnet/recipe.toml"


class AbsurdValues(GhhostCase):
    def test_counts_beyond_all_use_are_refused_by_key(self):
        for recipe, override, key in ((TOY, "train.threads=50000", "train.threads"),
                                      (TOY, "train.epochs=1000000000000000000", "train.epochs"),
                                      (TOY, "train.batch=1000000000000000000", "train.batch"),
                                      (TOY, "harmonize.allocator.iterations=1000000000000", "harmonize.allocator.iterations"),
                                      (RESNET, "backbone.width=4096", "backbone.width")):
            with self.subTest(override=override):
                done = self.ghhost("run", recipe, override, "--out", self.dir / "run", expect=78)
                self.assertRegex(done.stderr, rf"command line:1:\d+: error: {key}: expected an integer in \d+ … \d+( \(\w+\))?, got \d+")
                self.assertFalse((self.dir / "run").exists())

    def test_more_threads_than_any_machine_at_hand_has_cores_run(self):
        self.ghhost("run", TOY, "~harmonize", "train.epochs=1", "train.threads=64", "~eval", "--out", self.dir / "run")

    def test_networks_larger_than_memory_are_refused_with_numbers(self):
        done = self.ghhost("run", TOY, f"backbone.hidden={[65536] * 200}", "--out", self.dir / "run", expect=78)
        self.assertIn("error: backbone: the networks need at least ", done.stderr)
        self.assertRegex(done.stderr, r"\d GB to draw their weights, and [0-9.]+ GB of memory are available")
        self.assertFalse((self.dir / "run").exists())

    def test_every_count_of_a_bundled_component_has_a_largest_value(self):
        def counts(params):
            for p in params:
                if "integer" in p["kind"]:
                    yield p
                yield from counts(p.get("fields", []))

        listed = json.loads(self.ghhost("plugins", "list", "--json").stdout)
        bundled = [p for p in listed if p["origin"] == "bundled"]
        self.assertTrue(bundled)
        for plugin in bundled:
            report = json.loads(self.ghhost("plugins", "info", plugin["file"], "--json").stdout)
            for component in report["plugin"]["components"]:
                for p in counts(component["params"]):
                    with self.subTest(component=component["id"], parameter=p["name"]):
                        self.assertTrue("max" in p or "below" in p)


if __name__ == "__main__":
    unittest.main()
