"""Who sees to it that a busy machine does not stop a run: a watch, unless its user has said how threads shall wait."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from ghhost_case import GHHOST, TOY, GhhostCase


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core has no threads that wait for one another")
class Busy(GhhostCase):
    def threads_of_a_run(self, name, *overrides, **variables):
        """Names of its threads while it trains, and what it wrote of its environment."""
        bare = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
        program = subprocess.Popen([GHHOST, "run", TOY, "train.epochs=1000000", "train.threads=0", *overrides, "--out", self.dir / name],
                                   cwd=self.dir, env=bare | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(program.kill)
        metrics = self.dir / name / "metrics.jsonl"
        while not metrics.exists() or not metrics.stat().st_size:
            self.assertIsNone(program.poll(), "it ended before it trained")
            time.sleep(0.01)
        names = {(task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir() if task.exists()}
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(timeout=300), 75)
        return names, json.loads((self.dir / name / "environment.json").read_text())["waiting"]

    def test_a_run_is_watched(self):
        names, waiting = self.threads_of_a_run("watched")
        self.assertIn("gh-busy-watch", names)
        self.assertEqual(waiting, "spins; sleeps where cores are short")

    def test_what_the_user_set_stays(self):
        names, waiting = self.threads_of_a_run("passive", OMP_WAIT_POLICY="passive")
        self.assertNotIn("gh-busy-watch", names)
        self.assertEqual(waiting, "OMP_WAIT_POLICY=passive")

    def test_one_thread_waits_for_nobody(self):
        self.assertNotIn("gh-busy-watch", self.threads_of_a_run("alone", "train.threads=1")[0])


if __name__ == "__main__":
    unittest.main()
