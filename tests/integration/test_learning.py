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
        # Over seeds 0 to 11, untrained encoders reach 11 to 15 %, chance being 10 %, and trained ones 16 to 28 points more; of the few, at
        # most 1 % and 23 to 37 points more.
        untrained, trained = self.accuracies()
        self.assertLess(untrained["accuracy"], 18)
        self.assertGreater(trained["accuracy"], untrained["accuracy"] + 12)
        self.assertGreater(trained["few"], untrained["few"] + 16)


if __name__ == "__main__":
    unittest.main()
