#!/usr/bin/env python3
"""ghhost report as tables, and ghhost diff, on runs that report_driver makes up."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import unittest

from ghhost_case import SOURCE, GhhostCase

DRIVER = pathlib.Path(os.environ.get("REPORT_DRIVER", SOURCE / "build/bin/report_driver"))


class Report(GhhostCase):
    def make_up(self, name, seed=0, lift=0.0):
        subprocess.run([DRIVER, self.dir / name, "100", str(seed), str(lift)], check=True)
        return self.dir / name

    def rows(self, text):
        """Cells of a Markdown table, without its heading."""
        lines = [line for line in text.splitlines() if line.startswith("| ")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]

    def test_markdown_has_what_the_results_say(self):
        run = self.make_up("a")
        rows = self.rows(self.ghhost("report", run, "--format", "markdown").stdout)
        self.assertEqual([row[1] for row in rows], ["linear", "knn (k = 20)", "knn (k = 200)"])
        last = json.loads(next(run.glob("results/*-end-linear.json")).read_text())
        self.assertEqual(rows[0][2:], last["tables"][0]["rows"][0])

    def test_latex_goes_to_a_file_and_to_a_mean_over_seeds(self):
        runs = [self.make_up(f"s{seed}", seed) for seed in range(3)]
        self.ghhost("report", *runs, "--format", "latex", "--mean", "--out", "table.tex")
        text = (self.dir / "table.tex").read_text()
        row = next(line for line in text.splitlines() if line.startswith("cifar100-lt & linear"))
        few = [json.loads(next(run.glob("results/*-end-linear.json")).read_text()) for run in runs]
        few = [next(m["value"] for m in result["metrics"] if m["name"] == "few") for result in few]
        self.assertIn(f"${statistics.mean(few):.2f} \\pm {statistics.stdev(few):.2f}$", row)
        self.assertTrue(row.endswith("& 3 \\\\"), row)
        self.assertEqual(text.count("cifar100-lt & linear"), 1)

    def test_diff_lists_differences_and_results(self):
        a, b = self.make_up("a"), self.make_up("b", lift=0.15)
        text = self.ghhost("diff", a, b).stdout
        self.assertIn("Recipe\n  harmonize.weight  0", text)
        self.assertRegex(text, r"    few +\d+\.\d+ +\d+\.\d+ +\+\d+\.\d+\n")
        found = json.loads(self.ghhost("diff", a, b, "--json").stdout)
        self.assertEqual([d["key"] for d in found["differences"]["recipe"]], ["harmonize.weight"])
        self.assertEqual([w for result in found["results"] for w in result["warnings"]], [])
        linear = {m["name"]: m for m in found["results"][0]["metrics"]}
        self.assertAlmostEqual(linear["few"]["difference"], linear["few"]["b"] - linear["few"]["a"])

    def test_runs_of_the_host_itself_differ_in_what_was_changed(self):
        a, b = self.run_toy("a"), self.run_toy("b", "harmonize.weight=2", "loader.threads=2")
        found = json.loads(self.ghhost("diff", a, b, "--json").stdout)["differences"]
        self.assertEqual({key: [d["key"] for d in rows] for key, rows in found.items()},
                         {"recipe": ["harmonize.weight"], "neutral": ["loader.threads"]})

    def test_what_is_wrong_is_said(self):
        run = self.make_up("a")
        self.assertIn("nowhere", self.ghhost("diff", run, "nowhere", expect=66).stderr)
        self.ghhost("report", run, "--format", "word", expect=64)
        self.assertIn("--format", self.ghhost("report", run, "--mean", expect=64).stderr)
        again = self.ghhost("report", run, run, "--format", "latex", "--mean", expect=78).stderr
        self.assertTrue(re.search("same seed", again), again)


if __name__ == "__main__":
    unittest.main()
