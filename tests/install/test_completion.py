"""What the shells offer when tab is pressed: the program answers, bash, zsh and fish show it."""
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GH_BUILD_DIR"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = SOURCE / "packaging/completion"
TOY = str(SOURCE / "recipes/toy.toml")


class Completion(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-completion-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        for file in ("runs/toy-001/status.json", "here/status.json", "runs/none/other.json", "studies/one/jobs.json"):
            (self.dir / file).parent.mkdir(parents=True)
            (self.dir / file).write_text("{}")

    def run_in(self, *command):
        path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([str(c) for c in command], cwd=self.dir, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": path, "HOME": str(self.dir)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def answers(self, *words):
        return [line.split("\t")[0] for line in self.run_in("ghhost", "complete", "--", *words).splitlines()]

    def test_commands_groups_and_options(self):
        self.assertEqual(self.answers("re"), ["resume", "replay", "report"])
        self.assertEqual(self.answers("plugins", "s"), ["sign", "search"])
        self.assertEqual(self.answers("report", "x", "--fo"), ["--format"])
        self.assertEqual(self.answers("report", "x", "--format", ""), ["html", "markdown", "latex"])
        self.assertEqual(self.answers("--plugin", "a.so", "ver"), ["version"])
        self.assertEqual(self.answers("nothing", "a"), [])

    def test_every_command_of_the_program(self):
        first = self.answers("")
        listed = self.run_in("ghhost", "--help").split("Subcommands:")[1]
        self.assertEqual(first, [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "
                                 and not line.startswith("  ghhost")])

    def test_runs_and_studies(self):
        self.assertEqual(self.answers("resume", ""), ["here", "runs/toy-001"])
        self.assertEqual(self.answers("diff", "here", "runs/"), ["runs/toy-001"])
        self.assertEqual(self.answers("run", TOY, "--fork", "ru"), ["runs/toy-001"])
        self.assertEqual(self.answers("study", "status", ""), ["studies/one"])
        self.assertEqual(self.answers("study", "stu"), ["studies/one"])

    def test_kinds_and_components(self):
        self.assertIn("allocator", self.answers("new-plugin", ""))
        self.assertEqual(self.answers("plugins", "info", "sink"), ["sinkhorn"])

    def test_keys_of_a_recipe_are_the_hosts_and_its_components(self):
        self.assertEqual(self.answers("run", TOY, "train.ep"), ["train.epochs="])
        self.assertEqual(self.answers("run", TOY, "method.temp"), ["method.temperature="])
        self.assertEqual(self.answers("run", TOY, "method.id=simclr", "~harmonize.allocator")[:2],
                         ["~harmonize.allocator", "~harmonize.allocator.id"])
        self.assertEqual(self.answers("run", TOY, "method.id=sims"), ["method.id=simsiam"])
        self.assertEqual(self.answers("run", TOY, "+eval.0.i"), ["+eval.0.id="])
        self.assertEqual(self.answers("run", "absent.toml", "method.temp"), [])
        self.assertEqual(self.answers("run", "absent.toml", "train.ep"), ["train.epochs="])

    def test_bash(self):
        def offered(*words):
            listed = " ".join(map(shlex.quote, words))
            return self.run_in("bash", "-c", f"compopt() {{ :; }}; source {SCRIPTS}/ghhost.bash; COMP_WORDS=(ghhost {listed}); "
                               f"COMP_CWORD={len(words)}; _ghhost; printf '%s\\n' \"${{COMPREPLY[@]}}\"").split()
        self.assertEqual(offered("plugins", "in"), ["info", "install"])
        # As readline takes it apart.
        self.assertEqual(offered("run", TOY, "method.id", "=", "sims"), ["simsiam"])
        self.assertEqual(offered("run", TOY, "method.id", "=", "simclr", "train.ep"), ["train.epochs="])
        self.assertEqual(offered("run", "rec"), [])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        def offered(*words):
            listed = " ".join(map(shlex.quote, words))
            return self.run_in("zsh", "-fc", "compadd() { print -l -- $texts }; _files() { print files }; "
                               f"words=(ghhost {listed}); CURRENT={len(words) + 1}; source {SCRIPTS}/_ghhost").split()
        self.assertEqual(offered("plugins", "in"), ["info", "install"])
        self.assertEqual(offered("run", TOY, "method.id=sims"), ["method.id=simsiam"])
        self.assertEqual(offered("run", "rec"), ["files"])

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        def offered(line):
            shown = self.run_in("fish", "-c", f"source {SCRIPTS}/ghhost.fish; complete -C {shlex.quote(line)}")
            return [answer.split("\t")[0] for answer in shown.splitlines()]
        self.assertEqual(offered("ghhost plugins in"), ["info", "install"])
        self.assertEqual(offered(f"ghhost run {TOY} method.id=sims"), ["method.id=simsiam"])
        self.assertEqual(offered("ghhost check run"), ["runs/"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
