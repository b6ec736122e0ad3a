"""Standard streams that are closed, full or left by their reader."""
import json
import os
import signal
import subprocess
import unittest

from ghhost_case import GHHOST, SHAPES, SHORT, TOY, GhhostCase


class Streams(GhhostCase):
    def shell(self, redirection, *arguments):
        """ghhost with a redirection of the shell, such as 2>&-."""
        done = subprocess.run(["/bin/sh", "-c", f'"$0" "$@" {redirection}', GHHOST, *map(str, arguments)], cwd=self.dir,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        return done

    def train(self, redirection):
        run = self.dir / "run"
        done = self.shell(redirection, "run", TOY, *SHORT, "--out", run)
        self.assertEqual(self.status(run)["state"], "finished")
        self.assertEqual(len(self.metrics(run)), 10)
        self.assertTrue((run / "report.html").exists())
        return done

    def test_messages_that_cannot_be_written_are_dropped(self):
        whole = self.run_toy("whole")
        for redirection in ("2>/dev/full", "2>&-"):
            with self.subTest(redirection=redirection):
                done = self.train(redirection)
                self.assertEqual(done.returncode, 0)
                self.assertIn("Report: ", done.stdout)
                self.assertEqual(self.state(whole), self.state(self.dir / "run"))
                subprocess.run(["rm", "-r", self.dir / "run"], check=True)

    def test_no_file_of_a_run_becomes_a_standard_stream(self):
        done = self.train("<&- >&- 2>&-")
        self.assertEqual(done.returncode, 74)
        log = (self.dir / "run/train.log").read_text()
        self.assertNotIn("Report: ", log)
        for line in (self.dir / "run/metrics.jsonl").read_text().splitlines():
            json.loads(line)

    def test_mistakes_keep_their_code_without_a_place_to_say_them(self):
        for redirection in ("2>/dev/full", "2>&-", ">&- 2>&-"):
            with self.subTest(redirection=redirection):
                self.assertEqual(self.shell(redirection, "check", TOY, "train.epochs=0").returncode, 78)
                self.assertEqual(self.shell(redirection, "check", "absent.toml").returncode, 78)
                self.assertEqual(self.shell(redirection, "frobnicate").returncode, 64)

    def test_results_that_cannot_be_written_are_an_error(self):
        run = self.run_toy("done")
        for redirection, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            for command in (["version"], ["version", "--json"], ["keys"], ["check", TOY], ["check", TOY, "--resolved"],
                            ["plugins", "list"], ["plugins", "info", "simclr"], ["plugins", "check", "simclr"],
                            ["data", "check", TOY], ["data", "preview", SHAPES], ["report", run], ["diff", run, run],
                            ["export", run], ["--help"], ["run", "--help"], ["new-plugin", "ssl", f"mine{len(reason)}"]):
                with self.subTest(redirection=redirection, command=command):
                    done = self.shell(redirection, *command)
                    self.assertEqual(done.returncode, 74, done.stderr)
                    self.assertIn(f"cannot write to standard output: {reason}", done.stderr)

    def test_a_finished_run_whose_summary_is_lost_is_saved_and_exits_74(self):
        self.assertEqual(self.train(">/dev/full").returncode, 74)

    def test_a_reader_that_leaves_ends_a_listing_and_says_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run([GHHOST, "plugins", "list"], stdout=pipe, stderr=subprocess.PIPE, timeout=300,
                                  preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        self.assertEqual(done.returncode, -signal.SIGPIPE)
        self.assertEqual(done.stderr, b"")

    def test_a_run_outlives_the_reader_of_its_messages(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run([GHHOST, "run", TOY, *SHORT, "--out", self.dir / "run"], stdout=subprocess.PIPE, stderr=pipe,
                                  timeout=300, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.status(self.dir / "run")["state"], "finished")


if __name__ == "__main__":
    unittest.main()
