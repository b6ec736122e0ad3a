"""Which plugin a command uses: the one that was named, or none."""
import json
import shutil
import unittest

from ghhost_case import GHHOST, SHORT, TOY, GhhostCase

BUNDLED = GHHOST.resolve().parents[1] / "lib/ghhost/plugins"


class NamedPlugins(GhhostCase):
    def refused(self, plugin, *command):
        done = self.ghhost("--plugin", plugin, *command, expect=78)
        self.assertIn(f"--plugin {plugin} cannot be used: ", done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def cut_sinkhorn(self):
        path = self.dir / "sinkhorn.so"
        path.write_bytes((BUNDLED / "sinkhorn.so").read_bytes()[:5000])
        return path

    def test_a_refused_file_is_never_replaced_by_the_bundled_plugin(self):
        self.assertIn("truncated: ", self.refused(self.cut_sinkhorn(), "run", TOY, *SHORT, "--out", self.dir / "run"))
        self.assertFalse((self.dir / "run").exists())
        writable = shutil.copy(BUNDLED / "sinkhorn.so", self.dir / "open.so")
        writable.chmod(0o777)
        self.assertIn("unsafe_permissions: ", self.refused(writable, "check", TOY))

    def test_a_file_or_directory_that_is_not_there_is_an_error(self):
        self.assertIn("not_found: ", self.refused(self.dir / "absent.so", "check", TOY))
        self.assertIn("not_found: ", self.refused(self.dir / "absent", "check", TOY))

    def test_every_command_says_so(self):
        cut = self.cut_sinkhorn()
        run = self.run_toy("run")
        for command in (["resume", run], ["eval", run], ["export", run], ["replay", run], ["check", TOY], ["keys"],
                        ["data", "check", TOY], ["data", "preview", TOY], ["plugins", "list"], ["plugins", "list", "--json"],
                        ["plugins", "info", "simclr"], ["plugins", "check", "simclr"], ["report", run], ["diff", run, run],
                        ["version"], ["new-plugin", "ssl", "mine"]):
            with self.subTest(command=command):
                self.refused(cut, *command)

    def test_a_sound_file_is_the_one_that_is_used(self):
        mine = shutil.copy(BUNDLED / "sinkhorn.so", self.dir / "mine.so")
        run = self.dir / "run"
        self.ghhost("--plugin", mine, "run", TOY, *SHORT, "--out", run)
        plugins = json.loads((run / "environment.json").read_text())["plugins"]
        self.assertIn(str(mine), [p["file"] for p in plugins])

    def test_broken_files_of_a_given_directory_are_listed_and_do_no_harm(self):
        (self.dir / "mixed").mkdir()
        self.cut_sinkhorn().rename(self.dir / "mixed/cut.so")
        done = self.ghhost("--plugin", self.dir / "mixed", "plugins", "list")
        self.assertIn(f"refused  {self.dir / 'mixed/cut.so'}", done.stdout)
        self.ghhost("--plugin", self.dir / "mixed", "check", TOY)


if __name__ == "__main__":
    unittest.main()
