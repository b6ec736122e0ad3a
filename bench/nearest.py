#!/usr/bin/env python3
"""The search for nearest rows of libghops against faiss-cpu's flat index: the same rows, k and threads, float32.

Outputs are compared first. Where the two name different rows, both rows' scores in float64 must agree to 1e-5 of the largest, so
that only rows that float32 cannot tell apart may change places. Then the two run in turn, and the medians of times and of the
rounds' ratios are printed. Ours includes bringing the bank into its form, faiss's index holds it already. The exit code is 0 when
all bars are met. Close other programs.

  bench/nearest.py                  50,000 rows, 10,000 queries, width 512, k = 20 and 200, embeddings and plain Gaussian rows
  bench/nearest.py --bank 10000 --queries 2000 --rounds 3

faiss is put into .cache/bench-nearest unless GH_BENCH_PYTHON names a Python that has it.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from frame import BUILD, Program, become_peer_python, build, in_turn

BAR = 1.0
PAUSE = 0.05                            # until the threads of the other side sleep
METRICS = ("inner_product", "euclidean")


def make_rows(kind, bank, queries, width):
    import numpy as np
    random = np.random.default_rng(0)
    x = random.normal(size=(bank + queries, width)).astype(np.float32)
    if kind == "embeddings":            # behind a rectifier, 100 long-tailed classes, unit length
        shares = 100.0 ** -(np.arange(100) / 99)
        middles = random.normal(size=(100, width)).astype(np.float32)
        x = np.maximum(x + middles[random.choice(100, len(x), p=shares / shares.sum())], 0)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.ascontiguousarray(x[:bank]), np.ascontiguousarray(x[bank:])


class Ours(Program):
    def __init__(self, bank, queries, threads, folder):
        self.file, self.queries = folder / "found", len(queries)
        bank.tofile(folder / "bank")
        queries.tofile(folder / "queries")
        super().__init__(BUILD / "bin/nearest_bench", threads, len(bank), *queries.shape, folder / "bank", folder / "queries")

    def search(self, metric, k):
        import numpy as np
        seconds = self.ask(metric, k, self.file)["seconds"]
        return seconds, np.fromfile(self.file, np.int64).reshape(self.queries, k)


class Faiss:
    def __init__(self, bank, queries):
        import faiss
        self.queries, self.indices = queries, {}
        for metric, index in zip(METRICS, (faiss.IndexFlatIP(bank.shape[1]), faiss.IndexFlatL2(bank.shape[1]))):
            index.add(bank)
            self.indices[metric] = index

    def search(self, metric, k):
        began = time.perf_counter()
        _, found = self.indices[metric].search(self.queries, k)
        return time.perf_counter() - began, found


def compare(bank, queries, metric, k, ours, theirs):
    """Exits where the outputs are not worth the same."""
    import numpy as np
    rows, places = np.nonzero(ours != theirs)
    for begin in range(0, len(rows), 4096):
        part = slice(begin, begin + 4096)
        q = queries[rows[part]].astype(np.float64)

        def score(found):
            y = bank[found[rows[part], places[part]]].astype(np.float64)
            return (q * y).sum(1) if metric == "inner_product" else -((q - y) ** 2).sum(1)

        mine, other = score(ours), score(theirs)
        if np.any(np.abs(mine - other) > 1e-5 * np.abs(other).max()):
            sys.exit(f"{metric}, k = {k}: the rows found differ in score by {np.abs(mine - other).max():.3g}, so nothing is measured")
    print(f"  {metric}, k = {k}: {len(rows)} of {ours.size} places differ, scores of both agree to 1e-5", flush=True)


def measure(kind, arguments, folder):
    bank, queries = make_rows(kind, arguments.bank, arguments.queries, arguments.width)
    ours, theirs = Ours(bank, queries, arguments.threads, folder), Faiss(bank, queries)
    print(f"{kind}: {len(bank)} × {len(queries)} × {bank.shape[1]}, {arguments.threads} threads", flush=True)
    rows = []
    for metric in arguments.metrics:
        for k in arguments.k:
            compare(bank, queries, metric, k, ours.search(metric, k)[1], theirs.search(metric, k)[1])
            times = in_turn(arguments.rounds, PAUSE, ours=lambda _: ours.search(metric, k)[0],
                            faiss=lambda _: theirs.search(metric, k)[0])
            ratios = [b / a for a, b in zip(times["ours"], times["faiss"])]
            row = {"data": kind, "metric": metric, "k": k, "ours": statistics.median(times["ours"]),
                   "faiss": statistics.median(times["faiss"]), "ratio": statistics.median(ratios), "ratios": ratios}
            row["passed"] = row["ratio"] >= BAR
            rows.append(row)
            print(f"    ours {row['ours']:6.3f} s, faiss {row['faiss']:6.3f} s, ratio {row['ratio']:.2f} "
                  f"(rounds {min(ratios):.2f} … {max(ratios):.2f}), bar {BAR}: {'pass' if row['passed'] else 'FAIL'}", flush=True)
    ours.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", type=int, default=50_000, help="rows of the bank")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--k", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=["inner_product"])
    parser.add_argument("--data", nargs="+", choices=("embeddings", "gaussian"), default=["embeddings", "gaussian"])
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (default: 5)")
    parser.add_argument("--threads", type=int, default=2, help="of each side (default: 2)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the numbers there, too")
    arguments = parser.parse_args()
    become_peer_python("nearest", ["faiss-cpu", "numpy"], ["faiss"])
    build("nearest_bench")
    import faiss
    faiss.omp_set_num_threads(arguments.threads)
    print(f"peer: faiss {faiss.__version__} ({faiss.get_compile_options().strip()}); load average {os.getloadavg()[0]:.2f}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="gh-nearest-") as folder:
        for kind in arguments.data:
            rows += measure(kind, arguments, pathlib.Path(folder))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
