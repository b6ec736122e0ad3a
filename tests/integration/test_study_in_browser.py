#!/usr/bin/env python3
"""The page of a study in headless Chromium: it sorts, filters and draws what is chosen, asks the network for nothing, survives
reading itself anew, and can be read without its script. Skipped where there is no Chromium."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

from test_report_in_browser import SCHEMES, faults, faults_of_frame, faults_of_print, find_browser, run_browser, serve

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DRIVER = pathlib.Path(os.environ.get("STUDY_DRIVER", SOURCE / "build/bin/study_driver"))
BROWSER = find_browser()

# The page in a frame, and what is done to it, as a function `act` of its document that returns what is found.
PROBE = """<!DOCTYPE html><body><iframe %s src="/study.html" style="border:0;width:1200px;height:900px"></iframe>
<script>
const act = %s;
const out = [];
document.querySelector("iframe").onload = event => {
  const page = event.target.contentDocument;
  const all = selector => [...page.querySelectorAll(selector)];
  const table = page.querySelector(".arms");
  const seen = {
    all, table, page,
    rows: () => [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => r.dataset.of),
    column: i => [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[i].dataset.v ?? null),
    curves: () => [...all("#s%d svg")[0].querySelectorAll(".s")].filter(g => page.defaultView.getComputedStyle(g).display != "none")
        .map(g => g.dataset.of),
    type: words => {
      const filter = page.getElementById("filter");
      filter.value = words;
      filter.dispatchEvent(new Event("input"));
    }};
  out.push(act(seen, out.length));
  let text = document.querySelector("pre");
  if (!text) text = document.body.appendChild(document.createElement("pre"));
  text.textContent = JSON.stringify(out).replace(/</g, " ");
};
</script></body>"""


@unittest.skipIf(BROWSER is None, "no Chromium on the PATH")
class StudyPage(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.studies = {}

    def study(self, *arguments):
        """The directory of a study that study_driver makes up."""
        if arguments not in self.studies:
            directory = pathlib.Path(self.folder.name) / "-".join(arguments)
            subprocess.run([DRIVER, directory, *arguments], check=True)
            self.studies[arguments] = directory
        return self.studies[arguments]

    def probe(self, study, act, *options, frame=""):
        """What `act` found, a value for each time that the page was loaded."""
        headings = re.findall(r"<section id=\"s(\d+)\">\n<h2>(\w+)", (study / "study.html").read_text())
        curves = next(int(number) for number, heading in headings if heading == "Curves")
        (study / "probe.html").write_text(PROBE % (frame, act, curves))
        server, _ = serve(study)
        try:
            dom, log = run_browser(BROWSER, f"http://127.0.0.1:{server.server_port}/probe.html", "--dump-dom", *options)
        finally:
            server.shutdown()
            server.server_close()
        found = re.search(r"<pre>(.*)</pre>", dom, re.DOTALL)
        self.assertTrue(found, log[-2000:])
        return json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&"))

    def numbers(self, study, evaluator, metric):
        """Means of every arm as study.json's raw values give them; None where there are none."""
        out = []
        for arm in json.loads((study / "table.json").read_text())["arms"]:
            result = next(r for r in arm["results"] if (r["evaluator"], r["metric"]) == (evaluator, metric))
            values = [v for v in result["seeds"].values() if v is not None]
            out.append(statistics.mean(values) if values else None)
        return out

    def test_no_errors_and_nothing_of_the_network_at_any_size(self):
        for arguments in [("1", "1", "done"), ("4", "3", "going"), ("12", "3", "done", "paper"), ("100", "2", "going")]:
            study = self.study(*arguments)
            server, asked = serve(study)
            root = f"http://127.0.0.1:{server.server_port}"
            dom, log = run_browser(BROWSER, f"{root}/study.html", "--dump-dom")
            found = list(faults(dom, log, list(asked), "study.html", live=True))
            for scheme, width in [("light", 375), ("light", 1200), ("dark", 768)]:
                dom, _ = run_browser(BROWSER, f"{root}/frame/{width}/study.html", "--dump-dom", f"--blink-settings={SCHEMES[scheme]}")
                found += [f"{scheme}, {width} px: {fault}" for fault in faults_of_frame(dom, scheme)]
            found += faults_of_print(BROWSER, f"{root}/study.html", self.folder.name)
            server.shutdown()
            server.server_close()
            self.assertEqual(found, [], arguments)

    def test_it_sorts_by_number_and_by_name_and_back(self):
        study = self.study("100", "2", "going")
        found, = self.probe(study, """page => {
          const sort = page.table.querySelectorAll(".sort"), out = {file: page.rows()};
          sort[3].click();
          out.down = page.column(3);
          sort[3].click();
          out.up = page.column(3);
          sort[3].click();
          out.again = page.rows();
          sort[0].click();
          out.names = [...page.table.tBodies[0].rows].map(r => r.cells[0].querySelector("label").textContent);
          out.marked = page.all("[aria-sort]").length;
          return out;
        }""")
        few = self.numbers(study, "linear_probe", "few")
        present = sorted((v for v in few if v is not None), reverse=True)
        missing = [None] * few.count(None)
        self.assertGreater(len(missing), 0)
        as_numbers = lambda column: [v and round(float(v), 9) for v in column]
        self.assertEqual(as_numbers(found["down"]), as_numbers(present) + missing)
        self.assertEqual(as_numbers(found["up"]), as_numbers(present[::-1]) + missing)
        self.assertEqual(found["again"], found["file"])
        self.assertEqual(found["file"], [f"a{i}" for i in range(len(few))])
        weights = [float(w) for w in re.findall(r"w = ([\d.]+), K = 30(?=\D|$)", "\n".join(found["names"]))]
        self.assertEqual(weights, sorted(weights))
        self.assertEqual(found["marked"], 1)

    def test_it_filters_by_label_axis_and_state(self):
        study = self.study("100", "2", "going")
        found, = self.probe(study, """page => {
          const out = {};
          for (const words of ["harmonize.weight=0.5 K", "failed", "baseline", "no such arm", ""]) {
            page.type(words);
            out[words] = page.rows();
          }
          page.type("failed");
          out.count = page.page.getElementById("count").textContent;
          return out;
        }""")
        arms = json.loads((study / "table.json").read_text())["arms"]
        expected = lambda test: [f"a{i}" for i, arm in enumerate(arms) if test(arm)]
        self.assertEqual(found["harmonize.weight=0.5 K"], expected(lambda arm: arm["axes"].get("harmonize.weight") == "0.5"))
        failed = expected(lambda arm: any(run["state"] == "failed" for run in arm["runs"]))
        self.assertEqual(found["failed"], failed)
        self.assertEqual(found["baseline"], ["a0"])
        self.assertEqual(found["no such arm"], [])
        self.assertEqual(len(found[""]), len(arms))
        self.assertEqual(found["count"], f"{len(failed)} of {len(arms)} arms")

    def test_it_draws_what_is_chosen(self):
        study = self.study("100", "2", "going")
        found, = self.probe(study, """page => {
          const out = {first: page.curves()};
          page.type("k = 110");
          page.page.getElementById("draw").click();
          out.filtered = page.rows();
          out.drawn = page.curves();
          page.all("#arms li:not(.off) button")[0].click();
          out.less = page.curves();
          page.type("");
          const box = page.all("tr[data-of=a0] .draw")[0];
          box.click();
          out.more = page.curves();
          out.ticked = page.all(".draw:checked").length;
          out.colors = new Set(page.all("#arms li:not(.off)").map(li => li.style.getPropertyValue("--c"))).size;
          page.all("tr[data-of=a1] td")[0].dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
          out.pointed = page.all(".pointing .hot").filter(e => e.matches(".s")).map(e => e.dataset.of);
          out.shown = page.curves().includes("a1");
          return out;
        }""")
        self.assertEqual(found["first"], [f"a{i}" for i in range(8)])
        self.assertEqual(len(found["filtered"]), 9)
        self.assertEqual(found["drawn"], found["filtered"][:8])
        self.assertEqual(found["less"], found["drawn"][1:])
        self.assertEqual(found["more"], ["a0"] + found["less"])
        self.assertEqual(found["ticked"], 2 * len(found["more"]))  # in the table of each evaluator
        self.assertEqual(found["colors"], 8)
        self.assertEqual(set(found["pointed"]), {"a1"})
        self.assertTrue(found["shown"])

    def test_what_was_set_outlives_reading_the_page_anew(self):
        study = self.study("4", "3", "going")
        found = self.probe(study, """(page, time) => {
          if (time == 0) {
            page.table.querySelectorAll(".sort")[0].click();
            page.table.querySelectorAll(".sort")[0].click();
            page.type("gh");
            page.all("tr[data-of=a1] .draw")[0].click();
          }
          return {rows: page.rows(), curves: page.curves(), words: page.page.getElementById("filter").value};
        }""", "--virtual-time-budget=65000")
        self.assertEqual(len(found), 2)
        self.assertEqual(found[1], found[0])
        self.assertEqual(found[0]["words"], "gh")
        self.assertNotIn("a1", found[0]["curves"])

    def test_a_study_that_is_done_is_not_read_anew(self):
        found = self.probe(self.study("12", "3", "done", "paper"), "page => page.rows()", "--virtual-time-budget=200000")
        self.assertEqual(len(found), 1)

    def test_without_its_script_everything_can_be_read(self):
        study = self.study("100", "2", "going")
        found, = self.probe(study, """page => ({
          rows: page.rows().length, curves: page.curves(),
          tools: page.all(".tools, .draw").filter(e => e.offsetParent !== null).length})""", frame='sandbox="allow-same-origin"')
        self.assertEqual(found, {"rows": 100, "curves": [f"a{i}" for i in range(8)], "tools": 0})

    def test_tables_say_what_json_says(self):
        study = self.study("4", "3", "going")
        text = (study / "table.md").read_text()
        few = self.numbers(study, "linear_probe", "few")
        self.assertIn(f"{few[0]:.2f} ± ", next(line for line in text.splitlines() if line.startswith("| SimCLR")))
        rows = [line.split(",") for line in (study / "table.csv").read_text().splitlines()]
        self.assertTrue(all("\x1b" not in cell for row in rows for cell in row))
        self.assertEqual(rows[0][:2], ["label", "arm"])


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium on the PATH")
        sys.exit(77)
    unittest.main()
