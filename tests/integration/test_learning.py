"""recipes/shapes.toml teaches: pictures of the same form become neighbours, which they are not for an untrained encoder."""
import json
import unittest

from ghhost_case import SOURCE, GhhostCase

RECIPE = SOURCE / "recipes/shapes.toml"
# A third of the recipe's epochs, by one thread.
SHORT = ["train.epochs=3", "train.threads=1", 'train.device="cpu"', 'eval=[{id="knn", when=["start", "end"]}]']


class Learning(GhhostCase):
    def accuracies(self, *overrides):
        """Of an untrained encoder and of the trained one, by group."""
        run = self.dir / "run"
        self.ghhost("run", RECIPE, *SHORT, *overrides, "--out", run)
        results = [json.loads(next(run.glob(f"results/*-{moment}-knn.json")).read_text()) for moment in ("start", "end")]
        return [{metric["name"]: metric["value"] for metric in result["metrics"]} for result in results]

    def test_simclr_learns_forms_of_many_and_of_few_samples(self):
        untrained, trained = self.accuracies()
        # Chance is 10 %.
        self.assertLess(untrained["accuracy"], 15)
        self.assertGreater(trained["accuracy"], 2 * untrained["accuracy"])
        self.assertGreater(trained["few"], untrained["few"] + 10)


if __name__ == "__main__":
    unittest.main()
