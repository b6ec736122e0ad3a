#!/usr/bin/env python3
"""K-means of libghops against faiss-cpu and scikit-learn: the same rows, start, rounds and threads, float32.

Outputs are compared first: the sums of squared distances to the nearest centre, in float64, may differ by 1e-4 of their
value; k-means++ may not start worse than scikit-learn's by more than 2 % on average. Then the three run in turn, and the
medians of times and of the rounds' ratios are printed. libghops and scikit-learn end when labels repeat, and with a search for
the labels of the last centres; faiss does all rounds without it. The exit code is 0 when all bars are met. Close other programs.

  bench/kmeans.py                   both data sets: embeddings (unit rows, 100 long-tailed classes) and plain Gaussian rows
  bench/kmeans.py --rounds 25       more rounds

The peers are put into .cache/bench-kmeans unless GH_BENCH_PYTHON names a Python that has them.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from frame import BOUND, BUILD, Program, become_peer_python, build, in_turn

ROWS, WIDTH, CLUSTERS, ITERATIONS = 10_847, 128, 100, 25
BARS = {"faiss": (1.0, 1.5), "sklearn": (2.5, None), "seeding": (4.0, None)}
PAUSE = 0.05                            # until the threads of the other side sleep
SEEDS = 10


def make_rows(kind):
    import numpy as np
    random = np.random.default_rng(0)
    x = random.normal(size=(ROWS, WIDTH))
    if kind == "embeddings":
        shares = 100.0 ** -(np.arange(100) / 99)
        middles = random.normal(size=(100, WIDTH))
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        x = middles[random.choice(100, ROWS, p=shares / shares.sum())] + x / np.sqrt(WIDTH)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    x = x.astype(np.float32)
    return x, x[random.permutation(ROWS)[:CLUSTERS]]


def objective(x, centres):
    """Sum of squared distances to the nearest centre, in float64."""
    import numpy as np
    x, centres = x.astype(np.float64), centres.astype(np.float64)
    return float(((x**2).sum(1, keepdims=True) - 2 * x @ centres.T + (centres**2).sum(1)).min(1).sum())


class Ours(Program):
    def __init__(self, x, start, threads, folder):
        self.file = folder / "centres"
        x.tofile(folder / "x")
        start.tofile(folder / "start")
        # A pass takes milliseconds: threads that wake up on one core share it for most of that. Binding scikit-learn's, in a process
        # of its own, changes nothing; here its second OpenMP would find the first one's core only.
        super().__init__(BUILD / "bin/kmeans_bench", threads, *x.shape, len(start), folder / "x", folder / "start", **BOUND,
                         OMP_NUM_THREADS=str(threads))

    def ask(self, command, number):
        import numpy as np
        answer = super().ask(command, number, self.file)
        return answer["seconds"], np.fromfile(self.file, np.float32).reshape(-1, WIDTH), answer.get("iterations")


def faiss_lloyd(x, start):
    import faiss
    clustering = faiss.Clustering(x.shape[1], len(start))
    clustering.niter = ITERATIONS
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, len(x)  # all rows, no sampling
    faiss.copy_array_to_vector(start.ravel(), clustering.centroids)
    index = faiss.IndexFlatL2(x.shape[1])
    began = time.perf_counter()
    clustering.train(x, index)
    seconds = time.perf_counter() - began
    return seconds, faiss.vector_to_array(clustering.centroids).reshape(start.shape), ITERATIONS


def sklearn_lloyd(x, start):
    from sklearn.cluster import KMeans
    kmeans = KMeans(len(start), init=start, n_init=1, max_iter=ITERATIONS, tol=0, algorithm="lloyd")
    began = time.perf_counter()
    kmeans.fit(x)
    return time.perf_counter() - began, kmeans.cluster_centers_, kmeans.n_iter_


def sklearn_seed(x, key):
    from sklearn.cluster import kmeans_plusplus
    began = time.perf_counter()
    centres, _ = kmeans_plusplus(x, CLUSTERS, random_state=key)
    return time.perf_counter() - began, centres, None


def compare(x, start, ours):
    """Exits where the outputs are not worth the same."""
    sides = {"ours": ours.ask("lloyd", ITERATIONS), "faiss": faiss_lloyd(x, start), "sklearn": sklearn_lloyd(x, start)}
    values = {name: objective(x, centres) for name, (_, centres, _) in sides.items()}
    print("  objective " + ", ".join(f"{name} {values[name]:.8g} after {rounds} rounds" for name, (_, _, rounds) in sides.items()))
    starts = {"ours": [], "sklearn": []}
    for key in range(SEEDS):
        starts["ours"].append(objective(x, ours.ask("seed", key)[1]))
        starts["sklearn"].append(objective(x, sklearn_seed(x, key)[1]))
    means = {name: statistics.mean(found) for name, found in starts.items()}
    print(f"  k-means++ starts at {means['ours']:.6g} (scikit-learn {means['sklearn']:.6g}), mean of {SEEDS}", flush=True)
    if any(abs(values[peer] / values["ours"] - 1) > 1e-4 for peer in ("faiss", "sklearn")):
        sys.exit("the objectives differ, so nothing is measured")
    if means["ours"] > 1.02 * means["sklearn"]:
        sys.exit("our starts are worse, so nothing is measured")


def measure(kind, threads, rounds, folder):
    from threadpoolctl import threadpool_limits
    x, start = make_rows(kind)
    ours = Ours(x, start, threads, folder)
    print(f"{kind}: {ROWS} × {WIDTH}, {CLUSTERS} clusters, {ITERATIONS} rounds, {threads} threads", flush=True)
    with threadpool_limits(threads):
        compare(x, start, ours)
        lloyd = in_turn(rounds, PAUSE, ours=lambda _: ours.ask("lloyd", ITERATIONS)[0], faiss=lambda _: faiss_lloyd(x, start)[0],
                        sklearn=lambda _: sklearn_lloyd(x, start)[0])
        seeding = in_turn(rounds, PAUSE, ours=lambda i: ours.ask("seed", i)[0], seeding=lambda i: sklearn_seed(x, i)[0])
    ours.close()
    rows = []
    for peer, times in (("faiss", lloyd), ("sklearn", lloyd), ("seeding", seeding)):
        ratios = [theirs / own for own, theirs in zip(times["ours"], times[peer])]
        ratio, (bar, stretch) = statistics.median(ratios), BARS[peer]
        rows.append({"data": kind, "peer": peer, "ours": statistics.median(times["ours"]), "theirs": statistics.median(times[peer]),
                     "ratio": ratio, "ratios": ratios, "bar": bar, "passed": ratio >= bar})
        verdict = "FAIL" if ratio < bar else "pass, stretch" if stretch and ratio >= stretch else "pass"
        print(f"  {peer:<8} ours {1e3 * rows[-1]['ours']:7.1f} ms, theirs {1e3 * rows[-1]['theirs']:7.1f} ms, ratio {ratio:.2f} "
              f"(rounds {min(ratios):.2f} … {max(ratios):.2f}), bar {bar}: {verdict}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="how often each side is measured (default: 11)")
    parser.add_argument("--threads", type=int, default=2, help="of each side (default: 2)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the numbers there, too")
    arguments = parser.parse_args()
    become_peer_python("kmeans", ["faiss-cpu", "scikit-learn", "numpy", "threadpoolctl"],
                       ["faiss", "numpy", "sklearn", "threadpoolctl"])
    build("kmeans_bench")
    import faiss
    import sklearn
    faiss.omp_set_num_threads(arguments.threads)
    print(f"peers: faiss {faiss.__version__}, scikit-learn {sklearn.__version__}; load average {os.getloadavg()[0]:.2f}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="gh-kmeans-") as folder:
        for kind in ("embeddings", "gaussian"):
            rows += measure(kind, arguments.threads, arguments.rounds, pathlib.Path(folder))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
