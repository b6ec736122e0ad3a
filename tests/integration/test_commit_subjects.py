#!/usr/bin/env python3
"""scripts/commit_subjects.py in a repository of its own."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/commit_subjects.py"


class CommitSubjects(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ghhost-test-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org", *arguments], cwd=self.dir, check=True,
                       capture_output=True)

    def commit(self, subject):
        self.git("commit", "--allow-empty", "--no-verify", "-m", subject)

    def look(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], cwd=self.dir, capture_output=True, text=True)

    def message(self, text):
        path = self.dir / "message"
        path.write_text(text)
        return self.look(path).returncode

    def test_a_message_may_have_72_characters_in_its_first_line(self):
        self.assertEqual(self.message("ä" * 72 + "\n\nThe body " + "may be long " * 9), 0)
        self.assertEqual(self.message("ä" * 73), 1)

    def test_lines_that_git_drops_are_not_the_subject(self):
        self.assertEqual(self.message("\n# " + "x" * 90 + "\nshort"), 0)
        self.assertEqual(self.message("fixup! " + "x" * 72), 0)

    def test_only_commits_of_the_branch_are_looked_at(self):
        self.git("init", "--initial-branch", "main")
        self.commit("o" * 80)
        self.assertEqual(self.look().returncode, 0)
        self.git("checkout", "-b", "other")
        self.commit("short")
        self.assertEqual(self.look().returncode, 0)
        self.commit("n" * 73)
        self.commit("short again")
        done = self.look()
        self.assertEqual(done.returncode, 1)
        self.assertIn("n" * 72 + "|n", done.stderr)
        self.assertNotIn("ooo", done.stderr)

    def test_without_main_there_is_nothing_to_compare_with(self):
        self.git("init", "--initial-branch", "trunk")
        self.commit("n" * 73)
        done = self.look()
        self.assertEqual(done.returncode, 0)
        self.assertIn("no main", done.stderr)


if __name__ == "__main__":
    unittest.main()
