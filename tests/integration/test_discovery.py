"""CTest runs cases one by one: each has an entry of its own, under any name that Catch2 allows."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GHHOST", SOURCE / "build/bin/ghhost")).parents[1]


def entries(directory, *arguments):
    done = subprocess.run(["ctest", "--test-dir", directory, *arguments], capture_output=True, text=True, timeout=300)
    return done, re.findall(r"Test +#\d+: (.*)", done.stdout)


class Discovery(unittest.TestCase):
    def test_every_case_of_a_program_and_of_a_file_is_an_entry(self):
        _, found = entries(BUILD, "-N")
        cases = subprocess.run([BUILD / "bin/test_recipe", "--list-test-names-only"], capture_output=True, text=True).stdout.splitlines()
        self.assertGreater(len(cases), 50)
        self.assertEqual([name for name in found if name.startswith("recipe.")], [f"recipe.{case}" for case in cases])
        self.assertIn("integration.discovery." + self.id().removeprefix("__main__."), found)

    def test_odd_names_failures_and_programs_that_are_not_there(self):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            program = scratch / "program"
            # Lists three cases, as Catch2 would; each run says what it was given, and one of them fails.
            program.write_text("#!/bin/sh\n[ \"$1\" = list ] && { printf 'plain\\na, b [c]; d\\nbad\\tlate\\n'; exit 3; }\n"
                               "echo \"given <$2>\"; [ \"$2\" != bad ]\n")
            program.chmod(0o755)
            (scratch / "CTestTestfile.cmake").write_text(
                f'include("{SOURCE}/tests/discover.cmake")\n'
                f'gh_discover(NAME here ESCAPE FILE "{program}" LIST "{program}" list RUN "{program}" run LABELS x y PROPERTIES TIMEOUT 60)\n'
                f'gh_discover(NAME gone FILE "{scratch}/absent" LIST "{scratch}/absent" RUN "{scratch}/absent")\n')
            _, found = entries(scratch, "-N", "-L", "y")
            self.assertEqual(found, ["here.plain", "here.a, b [c]; d", "here.bad"])
            self.assertEqual(entries(scratch, "-N", "-L", "late")[1], ["here.bad"])
            done, _ = entries(scratch, "-V")
            self.assertIn(r"given <a\, b \[c\]; d>", done.stdout)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("50% tests passed, 2 tests failed out of 4", done.stdout)
            self.assertRegex(done.stdout, r"here\.bad \(Failed\)")
            self.assertRegex(done.stdout, r"gone\.not_built \(Not Run\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
