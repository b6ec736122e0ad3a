#!/usr/bin/env python3
"""Every method of the program on recipes/shapes.toml and, with GH, on recipes/shapes-gh.toml: the table of docs/methods.md.

A method brings its own settings, those of its small recipe in plugins/ssl; data, backbone, epochs and batch are the same for all,
views too but for what a method adds (boosts, small crops). Each run takes one thread; what is finished is not run again
while its resolved recipe stays the same. Seconds are those of the processor, evaluations included; memory is the peak of the
process. GHHOST names another program than build/bin/ghhost.

  scripts/learning_table.py                    all methods, seed 0; prints the table
  scripts/learning_table.py --seeds 3 --jobs 2 means over three seeds, two runs at a time
  scripts/learning_table.py byol swav --again  these from scratch; the table has all that are finished
  scripts/learning_table.py --write            puts the table into the page

The exit code is 1 when a run fails or a method's neighbours are no better than those of an untrained encoder.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tomllib

SOURCE = pathlib.Path(__file__).resolve().parents[1]
GHHOST = pathlib.Path(os.environ.get("GHHOST", SOURCE / "build/bin/ghhost"))
PAGE = SOURCE / "docs/methods.md"
BEGIN, END = "<!-- learning: written by scripts/learning_table.py --write -->", "<!-- learning: end -->"
UNTRAINED = "random"
# Small crops, as share of the picture: the form is gone from those of the methods' papers.
SMALL_CROP = [0.4, 0.7]
EVALUATIONS = [{"id": "knn"}, {"id": "linear_probe", "protocol": "fast"}, {"id": "effective_rank"}]
# What a short training asks for, beside or instead of what a method's recipe has.
# The experts of DnC get an epoch more than a quarter of ten, so that GH acts in their last one.
CHANGES = {"dnc": {"method": {"expert_epochs": 3}}}
# The same with GH: the warm-up, which counts in each stage, is shorter than that of an expert.
HARMONIZE = {"dnc": {"warm_up": 2}}
GROUPS = ["accuracy", "many", "medium", "few"]
COLUMNS = [*(("knn", name) for name in GROUPS), *(("linear_probe", name) for name in GROUPS), ("effective_rank", "effective_rank"),
           ("process", "seconds"), ("process", "memory")]


def bundled_methods():
    """Id → name of its plugin."""
    listed = json.loads(subprocess.run([GHHOST, "plugins", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    return {provided.removeprefix("ssl/"): file["name"] for file in listed if file["origin"] == "bundled"
            for provided in file.get("provides", []) if provided.startswith("ssl/")}


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def own_tables(plugin, method):
    """What the method's small recipe sets beside what all of them share."""
    folder = SOURCE / "plugins/ssl" / plugin
    own = folder / f"{method}.toml"
    tables = tomllib.loads((own if own.exists() else folder / "recipe.toml").read_text())
    for group in tables.get("views", {}).get("group", []):
        if "crop" in group:
            group["crop"] |= {"scale": SMALL_CROP}
    return {name: table for name, table in tables.items() if name not in ("name", "include")}


def merged(below, above):
    both = dict(below)
    for key, value in above.items():
        both[key] = merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


class Run:
    def __init__(self, place, plugin, method, harmonized, seed):
        self.method, self.harmonized, self.seed = method, harmonized, seed
        self.name = f"{method}{'-gh' if harmonized else ''}-{seed}"
        self.recipe, self.out, self.record = (place / f"{self.name}{end}" for end in (".toml", "", ".json"))
        base = SOURCE / f"recipes/shapes{'-gh' if harmonized else ''}.toml"
        tables = merged(own_tables(plugin, method), CHANGES.get(method, {}))
        if harmonized and method in HARMONIZE:
            tables["harmonize"] = HARMONIZE[method]
        tables |= {"train": {**tables.get("train", {}), "threads": 1}, "loader": {"threads": 1}}
        lines = [f"name = {toml(self.name)}", f"seed = {seed}", f"include = [{toml(str(base))}]", 'without = ["method"]', f"eval = {toml(EVALUATIONS)}"]
        self.recipe.write_text("\n".join([*lines, *(f"{name} = {toml(table)}" for name, table in tables.items())]) + "\n")

    def found(self):
        """What was measured with these settings, or None."""
        if not self.record.exists():
            return None
        record = json.loads(self.record.read_text())
        return record if record["resolved"] == self.resolved() else None

    def resolved(self):
        return subprocess.run([GHHOST, "check", self.recipe, "--resolved"], capture_output=True, text=True, check=True).stdout

    def make(self):
        """None, or why it failed."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.record.unlink(missing_ok=True)
        with open(self.out.with_suffix(".log"), "w+") as log:
            process = subprocess.Popen([GHHOST, "run", self.recipe, "--out", self.out], stdout=log, stderr=log,
                                       env={**os.environ, "OMP_NUM_THREADS": "1"})
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                log.seek(0)
                return f"{self.name}: exit code {process.returncode}\n{log.read()[-2000:]}"
        numbers = {"process": {"seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024}}
        for file in self.out.glob("results/*-end-*.json"):
            result = json.loads(file.read_text())
            if "metrics" in result:
                numbers[result["evaluator"]] = {m["name"]: m["value"] for m in result["metrics"]}
        self.record.write_text(json.dumps({"resolved": self.resolved(), **numbers}, indent=1))
        print(f"{self.name}: neighbours {numbers['knn']['accuracy']:.1f} %, probe {numbers['linear_probe']['accuracy']:.1f} %, "
              f"{numbers['process']['seconds']:.0f} s", flush=True)
        return None


def label(method, harmonized):
    return f"`{method}`" + (" + GH" if harmonized else "")


def rows(runs):
    """(method, harmonized) → means of the columns over the seeds, where all are finished."""
    found = {}
    for run in runs:
        found.setdefault((run.method, run.harmonized), []).append(run.found())
    return {key: records for key, records in found.items() if all(records)}


def of(records, column):
    evaluator, name = column
    return [record[evaluator][name] for record in records]


def block(found, seeds):
    head = ["", *(f"k-NN {name}" for name in ("all", *GROUPS[1:])), *(f"probe {name}" for name in ("all", *GROUPS[1:])), "rank", "s", "MB"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * len(COLUMNS) + "|"]
    for (method, harmonized), records in found.items():
        means = [statistics.mean(of(records, column)) for column in COLUMNS]
        cells = [f"{mean:.0f}" if column[0] == "process" else f"{mean:.1f}" for column, mean in zip(COLUMNS, means)]
        lines.append("| " + " | ".join([label(method, harmonized), *cells]) + " |")
    said = f"Seed{'s' if seeds > 1 else ''} {', '.join(map(str, range(seeds)))}."
    if seeds > 1:
        spread = [statistics.stdev(of(records, COLUMNS[0])) for records in found.values()]
        said += f" k-NN accuracy has a standard deviation over seeds of {statistics.median(spread):.1f} points (median), {max(spread):.1f} at most."
    return "\n".join([BEGIN, *lines, "", said, END])


def no_better(found):
    base = statistics.mean(of(found[UNTRAINED, False], COLUMNS[0])) if (UNTRAINED, False) in found else 0
    return [label(*key) for key, records in found.items()
            if key[0] != UNTRAINED and statistics.mean(of(records, COLUMNS[0])) <= base]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help="all unless some are given")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0 on")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--again", action="store_true", help="also what is finished")
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "runs/learning")
    parser.add_argument("--write", action="store_true", help="into docs/methods.md")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    plugins = bundled_methods()
    # The references first; an untrained encoder has nothing to harmonize.
    order = sorted(plugins, key=lambda method: (method != UNTRAINED, not method == "supervised", method))
    runs = [Run(given.out.resolve(), plugins[method], method, harmonized, seed)
            for method in order for harmonized in (False, True) if not (harmonized and method == UNTRAINED) for seed in range(given.seeds)]
    wanted = [run for run in runs if run.method in (given.methods or plugins) and (given.again or not run.found())]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        failures = [failure for failure in pool.map(Run.make, sorted(wanted, key=lambda run: run.seed)) if failure]
    found = rows(runs)
    table, behind = block(found, given.seeds), no_better(found)
    print(table)
    if given.write:
        PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: table, PAGE.read_text(), flags=re.S))
    for trouble in [*failures, *(f"{name} is no better than an untrained encoder" for name in behind)]:
        print(trouble, file=sys.stderr)
    return 1 if failures or behind else 0


if __name__ == "__main__":
    sys.exit(main())
