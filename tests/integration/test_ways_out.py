"""However a process ends while a run is open, its exit code and status.json tell."""
import signal
import subprocess
import unittest

from ghhost_case import GHHOST, TOY, GhhostCase

ZOO = GHHOST.resolve().parents[1] / "tests/zoo/plugins"


class WaysOut(GhhostCase):
    def leave(self, how, *more, after=20):
        run = self.dir / how
        method = f'method={{id="zoo_leaver", projector="none", how="{how}", after={after}}}'
        return run, subprocess.run(
            [GHHOST, "--plugin", ZOO / "zoo_leaver.so", "run", TOY, "~harmonize", method, "train.epochs=8", 'eval.0.when=["end"]',
             *more, "--out", run],
            cwd=self.dir, capture_output=True, text=True, timeout=300)

    def check_failed(self, run, done, reason):
        self.assertIn(f"ghhost: {reason}", done.stderr)
        status = self.status(run)
        self.assertEqual(status["state"], "failed")
        self.assertEqual(status["message"], reason)
        self.assertFalse((run / "status.json.tmp").exists())

    def test_leaving_as_if_all_were_well_has_code_70_and_a_status(self):
        for how, call in (("exit", "exit(0)"), ("exit_75", "exit(75)"), ("quick_exit", "quick_exit()"), ("_exit", "_exit(0)"),
                          ("_Exit", "_Exit(0)")):
            with self.subTest(how=how):
                run, done = self.leave(how)
                self.assertEqual(done.returncode, 70, done.stderr)
                self.check_failed(run, done, f"a plugin or library called {call}")

    def test_crashes_keep_their_signal_and_leave_a_status(self):
        for how, number in (("abort", signal.SIGABRT), ("terminate", signal.SIGABRT), ("pthread_exit", signal.SIGABRT),
                            ("segfault", signal.SIGSEGV), ("stack_overflow", signal.SIGSEGV), ("hang_up", signal.SIGHUP)):
            with self.subTest(how=how):
                run, done = self.leave(how)
                self.assertEqual(done.returncode, -number, done.stderr)
                self.check_failed(run, done, f"ended by {number.name}")

    def test_a_run_that_was_left_goes_on_from_its_checkpoint(self):
        run, done = self.leave("exit", "checkpoint.every=1", "train.batch=200", after=25)
        self.assertEqual(done.returncode, 70, done.stderr)
        # It counts from the start of its process, so that what is left passes.
        self.ghhost("--plugin", ZOO / "zoo_leaver.so", "resume", run)
        self.assertEqual(self.status(run)["state"], "finished")

    def test_children_of_a_plugin_may_end_as_they_like(self):
        run, done = self.leave("child")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.status(run)["state"], "finished")

    def test_after_a_kill_readers_say_that_nobody_is_there(self):
        run, done = self.leave("kill")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(self.status(run)["state"], "running")  # nobody was left to write another word
        self.ghhost("report", run)
        page = (run / "report.html").read_text()
        self.assertIn("ended without a word", page)
        self.assertNotIn(">running<", page)


if __name__ == "__main__":
    unittest.main()
