"""Evaluators that fail or overwrite what they are handed: what it costs the others, the run and its report."""
import json
import os
import socket
import subprocess
import unittest

from ghhost_case import GHHOST, SHAPES, SHORT, TOY, GhhostCase

ZOO = GHHOST.parent.parent / "tests/zoo/plugins/zoo_meddlers.so"
SMALL = [SHAPES, "data.per_class=40", "train.epochs=2", "train.threads=1"]


class Meddled(GhhostCase):
    def run_with(self, out, *evaluators, recipe=SMALL, expect=0, more=()):
        evals = ", ".join(evaluators)
        done = self.ghhost("--plugin", ZOO, "run", *recipe, f"eval=[{evals}]", *more, "--out", self.dir / out, expect=expect)
        return self.dir / out, done

    def results(self, run):
        return [json.loads(file.read_text()) for file in sorted((run / "results").glob("*.json"))]

    def numbers(self, result):
        return {m["name"]: m["value"] for m in result["metrics"]}

    def tensors(self, run):
        """Those of the newest checkpoint; what stands before them names the evaluators, too."""
        state = self.state(run)
        return state[8 + int.from_bytes(state[:8], "little"):]

    def test_what_one_overwrites_the_next_one_sees_as_it_was(self):
        knn, vandal = '{id="knn", k=5}', '{id="zoo_vandal"}'
        alone, _ = self.run_with("alone", knn)
        after, _ = self.run_with("after", vandal, knn, vandal, '{id="knn", k=5, when=["start", "end"]}')
        of = [r for r in self.results(after) if r["evaluator"] == "knn" and r["moment"] == "end"]
        expected = self.numbers(self.results(alone)[-1])
        self.assertEqual([self.numbers(r) for r in of], [expected, expected])
        self.assertEqual(self.tensors(alone), self.tensors(after))

    def test_points_of_gh_stay_where_they_are(self):
        toy = [TOY, *SHORT]
        alone, _ = self.run_with("alone", '{id="circle"}', recipe=toy)
        after, _ = self.run_with("after", '{id="zoo_vandal", every=1}', '{id="circle"}', recipe=toy)
        self.assertEqual(self.metrics(alone), self.metrics(after))
        self.assertEqual(self.tensors(alone), self.tensors(after))

    def test_one_that_fails_costs_its_own_result(self):
        knn, failing = '{id="knn", k=5}', '{id="zoo_failing", when=["start", "end"]}'
        alone, _ = self.run_with("alone", knn)
        run, done = self.run_with("run", failing, knn, expect=3)
        self.assertIn("a tantrum", done.stderr)
        self.assertIn(f"ghhost eval {run}", done.stderr)
        self.assertIn("Evaluation failed: zoo_failing at end, epoch 2: ", done.stdout)
        start, end, neighbours = self.results(run)
        for failed in (start, end):
            self.assertIn("a tantrum", failed["error"])
            self.assertNotIn("metrics", failed)
        self.assertEqual(self.numbers(neighbours), self.numbers(self.results(alone)[-1]))
        self.assertEqual(self.tensors(alone), self.tensors(run))
        status = self.status(run)
        self.assertEqual(status["state"], "finished")
        self.assertRegex(status["message"], "2 evaluations failed; zoo_failing at start, epoch 0: .*tantrum")
        page = (run / "report.html").read_text()
        self.assertIn("Evaluation failed: zoo_failing at end, epoch 2", page)
        # There is nothing to train any more; what failed is evaluated by itself.
        done = self.ghhost("--plugin", ZOO, "resume", run, expect=3)
        self.assertIn("is finished", done.stderr)
        self.ghhost("--plugin", ZOO, "eval", run, expect=3)
        self.ghhost("--plugin", ZOO, "eval", run, 'eval=[{id="knn", k=5}]')
        self.assertEqual(self.numbers(self.results(run)[-1]), self.numbers(neighbours))
        outcome = json.loads(self.ghhost("--plugin", ZOO, "eval", run, "--json", expect=3).stdout)
        self.assertEqual(len(outcome["failed_evaluations"]), 1)

    def two_ranks(self, out, *evaluators):
        """Both exit codes, and what they said."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [GHHOST, "--plugin", ZOO, "run", *SMALL, "ranks.timeout=120", f"eval=[{', '.join(evaluators)}]", "--out", self.dir / out]
        ranks = [subprocess.Popen([*map(str, command)], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
                                       "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
                 for rank in range(2)]
        said = [rank.communicate(timeout=240)[0] for rank in ranks]
        return [rank.returncode for rank in ranks], said

    def test_a_failure_on_one_rank_is_one_on_all_and_nobody_waits_for_ever(self):
        knn = '{id="knn", k=5}'
        codes, said = self.two_ranks("whole", knn)
        self.assertEqual(codes, [0, 0], said)
        expected = self.numbers(self.results(self.dir / "whole")[-1])
        for i, failing in enumerate(('rank=1, first=true', 'rank=0, first=true', 'rank=1', 'rank=-1')):
            with self.subTest(failing):
                codes, said = self.two_ranks(f"run {i}", f'{{id="zoo_failing", {failing}}}', knn)
                self.assertEqual(codes, [3, 3], said)
                failed, neighbours = self.results(self.dir / f"run {i}")
                self.assertRegex(failed["error"], "^rank 1: .*tantrum" if "rank=1" in failing else "^[^:]*evaluator.*tantrum")
                self.assertEqual(self.numbers(neighbours), expected)
                self.assertEqual(self.status(self.dir / f"run {i}")["state"], "finished")

    def test_allocators_know_how_many_rows_they_will_see(self):
        toy = [TOY, *SHORT, "train.batch=32", "train.accumulate=4", "train.drop_last=true"]
        allocator = "harmonize.allocator={{id=\"zoo_counting\", rows={}}}"
        self.run_with("run", '{id="circle"}', recipe=toy, more=[allocator.format(8)])
        _, done = self.run_with("never", '{id="circle"}', recipe=toy, more=[allocator.format(32)], expect=78)
        self.assertIn("assign() sees 8 rows", done.stderr)


if __name__ == "__main__":
    unittest.main()
