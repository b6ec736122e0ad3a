"""Formulas of the SSL methods' vectors, for variant.py: inputs of another shape, and outputs by plain definitions."""
import math
import re

import numpy as np
import torch
import torch.nn.functional as F


def numbers(text):
    """All numbers of a sentence such as '3 and 300' or 'min 0.1, max 1.0'."""
    return [float(x) for x in re.findall(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?", text)]


def unit(x):
    return x / x.norm(dim=1, keepdim=True)


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def graded(name, loss, x, leaves, extra=lambda values: {}):
    """The loss of named tensors and its gradients of `leaves`, in float32 and, under …_f64, in float64. `name` has places for quantity."""
    out = {}
    for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
        t = {key: torch.tensor(value).to(dtype) if value.dtype.kind == "f" else torch.tensor(value) for key, value in x.items()}
        for key in leaves:
            t[key].requires_grad_()
        value = loss(t)
        value.backward()
        found = {"loss": value, **{f"d{key}": t[key].grad for key in leaves}, **extra(t)}
        out |= {name.format(key) + suffix: result.detach().numpy() for key, result in found.items()}
    return out


def simsiam_outputs(x, meta):
    return graded("{}", lambda t: -(F.cosine_similarity(t["p1"], t["z2"]).mean() + F.cosine_similarity(t["p2"], t["z1"]).mean()) / 2, x, ("p1", "p2"))


def simsiam_inputs(rng):
    return {key: normal(rng, 11, 9) for key in ("z1", "z2", "p1", "p2")}, {"B": 11, "d": 9, "eps": 1e-8}


def byol_rows(t):
    return (unit(t["p1"]) - unit(t["t2"])).square().sum(1) + (unit(t["p2"]) - unit(t["t1"])).square().sum(1)


def byol_outputs(x, meta):
    return graded("{}", lambda t: byol_rows(t).mean(), x, ("p1", "p2"), lambda t: {"per_sample": byol_rows(t)})


def byol_inputs(rng):
    return {key: normal(rng, 13, 7) for key in ("t1", "t2", "p1", "p2")}, {"B": 13, "d": 7, "epsilon": 1e-12}


def barlow_outputs(x, meta):
    def loss(t):
        a, b = ((z - z.mean(0)) / (z.var(0, unbiased=False) + float(meta["bn_eps"])).sqrt() for z in (t["z1"], t["z2"]))
        c = a.T @ b / len(a)
        on = (1 - c.diagonal()).square().sum()
        return on + float(meta["lambda_offdiag"]) * (c.square().sum() - c.diagonal().square().sum())
    return graded("{}", loss, x, ("z1", "z2"))


def barlow_inputs(rng):
    return {"z1": normal(rng, 17, 6), "z2": normal(rng, 17, 6)}, {"B": 17, "d": 6, "bn_eps": 1e-5, "lambda_offdiag": 0.02}


def vicreg_outputs(x, meta):
    weight = {key: float(meta[key]) for key in ("sim", "std", "cov", "eps")}

    def spread(z):
        c = torch.cov(z.T)
        hinge = torch.relu(1 - (c.diagonal() + weight["eps"]).sqrt()).mean()
        return hinge, (c.square().sum() - c.diagonal().square().sum()) / z.shape[1]

    def loss(t):
        (h1, c1), (h2, c2) = spread(t["z1"]), spread(t["z2"])
        return weight["sim"] * (t["z1"] - t["z2"]).square().mean() + weight["std"] * (h1 + h2) / 2 + weight["cov"] * (c1 + c2)
    return graded("{}", loss, x, ("z1", "z2"))


def vicreg_inputs(rng):
    return {"z1": 0.7 * normal(rng, 15, 5), "z2": 0.7 * normal(rng, 15, 5)}, {"B": 15, "d": 5, "eps": 1e-4, "sim": 10, "std": 15, "cov": 2}


def mocov3_outputs(x, meta):
    out = {}
    for temperature in numbers(meta["temperatures"]):
        def loss(t):
            terms = (F.cross_entropy(unit(t[q]) @ unit(t[k]).T / temperature, torch.arange(len(t[q]))) for q, k in (("q1", "k2"), ("q2", "k1")))
            return 2 * temperature * sum(terms)
        out |= graded(f"{{}}_T{temperature}", loss, x, ("q1", "q2"))
    return out


def mocov3_inputs(rng):
    return {key: normal(rng, 10, 6) for key in ("q1", "q2", "k1", "k2")}, {"B": 10, "d": 6, "temperatures": "0.5 and 0.3"}


def mocov2_outputs(x, meta):
    out = {}
    m, temperature, length = float(meta["momentum"]), float(meta["temperature"]), int(meta["K"])
    for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
        t = {key: torch.tensor(value).to(dtype) for key, value in x.items() if key != "ptr"}
        pointer, rows = int(x["ptr"][0]), {}
        for i in range(int(meta["steps"])):
            w, b = t["Wq"].clone().requires_grad_(), t["bq"].clone().requires_grad_()
            t["Wk"], t["bk"] = m * t["Wk"] + (1 - m) * w.detach(), m * t["bk"] + (1 - m) * b.detach()
            k = unit(t["x_k"][i] @ t["Wk"].T + t["bk"])
            raw = t["x_q"][i] @ w.T + b
            raw.retain_grad()
            q = unit(raw)
            logits = torch.cat([(q * k).sum(1, keepdim=True), q @ t["queue"]], 1) / temperature
            loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
            loss.backward()
            t["queue"][:, pointer:pointer + len(k)] = k.T
            pointer = (pointer + len(k)) % length
            step = {"loss": loss, "logits": logits, "q_raw": raw, "dq_raw": raw.grad, "dW": w.grad, "db": b.grad, "Wk_after": t["Wk"],
                    "queue_after": t["queue"].clone()}
            for key, value in step.items():
                rows.setdefault(key, []).append(value.detach())
            if not suffix:
                out.setdefault("ptr_after", []).append(pointer)
        out |= {key + suffix: torch.stack(values).numpy() for key, values in rows.items()}
    return out | {"ptr_after": np.array(out["ptr_after"])}


def mocov2_inputs(rng):
    queue = unit(torch.tensor(rng.normal(size=(20, 9)))).T.float().numpy()
    tensors = {"Wq": normal(rng, 9, 6), "Wk": normal(rng, 9, 6), "bq": normal(rng, 9), "bk": normal(rng, 9), "queue": queue,
               "x_q": normal(rng, 4, 5, 6), "x_k": normal(rng, 4, 5, 6), "ptr": np.array([10])}
    return tensors, {"B": 5, "K": 20, "dim": 9, "momentum": 0.9, "steps": 4, "temperature": 0.3}


def sinkhorn(scores, epsilon, rounds):
    q = torch.exp(scores / epsilon).T
    q = q / q.sum()
    for _ in range(rounds):
        q = q / q.sum(1, keepdim=True) / q.shape[0]
        q = q / q.sum(0, keepdim=True) / q.shape[1]
    return (q * q.shape[1]).T


def swav_outputs(x, meta):
    out = {}
    batch, crops_multi = int(meta["B"]), int(meta["crops_multi"])
    epsilon, rounds, temperature = float(meta["epsilon"]), int(meta["sinkhorn_iterations"]), float(meta["temperature"])
    for which, crops in (("two", 2), ("two_queue", 2), ("multi", crops_multi)):
        for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
            z = torch.tensor(x["z"][:crops * batch]).to(dtype).requires_grad_()
            points = unit(torch.tensor(x["prototypes"]).to(dtype)).requires_grad_()
            queue, rows = torch.tensor(x["queue"]).to(dtype), unit(z)
            scores, loss = rows @ points.T, 0
            for a in range(2):
                own = scores[a * batch:(a + 1) * batch].detach()
                every = torch.cat([queue[a] @ points.detach().T, own]) if which == "two_queue" else own
                code = sinkhorn(every, epsilon, rounds)[-batch:]
                others = [c for c in range(crops) if c != a]
                terms = [-(code * F.log_softmax(scores[c * batch:(c + 1) * batch] / temperature, 1)).sum(1).mean() for c in others]
                loss = loss + sum(terms) / len(others) / 2
                out[f"{which}_codes{a}{suffix}"] = code.numpy()
            loss.backward()
            out |= {f"{which}_{key}{suffix}": value.numpy()
                    for key, value in (("loss", loss.detach()), ("dz", z.grad), ("dprototypes", points.grad))}
            if which == "two_queue":
                rows = rows.detach().view(2, batch, -1)
                out[f"{which}_queue_after{suffix}"] = torch.cat([rows, queue[:, :-batch]], 1).numpy()
    return out


def swav_inputs(rng):
    queue = np.stack([unit(torch.tensor(rng.normal(size=(21, 5)))).float().numpy() for _ in range(2)])
    tensors = {"z": normal(rng, 4 * 7, 5), "prototypes": normal(rng, 9, 5), "queue": queue}
    return tensors, {"B": 7, "K": 9, "d": 5, "crops_multi": 4, "epsilon": 0.1, "queue": 21, "sinkhorn_iterations": 4, "temperature": 0.2}


def pmsn_outputs(x, meta):
    views, sharpness = int(meta["views"]), 1 / float(meta["sharpen_temperature"])

    def shares(rows, t):
        return (unit(rows) @ unit(t["prototypes"]).T / float(meta["temperature"])).softmax(1)

    def entropies(t, rounds):
        """Cross-entropy of targets and anchors, and the mean prediction."""
        with torch.no_grad():
            target = shares(t["targets"], t) ** sharpness
            target = target / target.sum(1, keepdim=True)
            if rounds:
                target = sinkhorn(target.log(), 1, rounds)
        p = shares(t["anchors"], t)
        return -(target.repeat(views, 1) * p.log()).sum(1).mean(), p.mean(0)

    def law(t):
        k = torch.arange(1, len(t["prototypes"]) + 1, dtype=torch.float64) ** -float(meta["power_law_exponent"])
        return (k / k.sum()).to(t["prototypes"].dtype)

    def pmsn(t, rounds):
        ce, mean = entropies(t, rounds)
        return ce + float(meta[f"regularisation_weight_sk{rounds}"]) * (law(t) * (law(t).log() - mean.log())).sum()

    def msn_regulariser(t):
        mean = entropies(t, 3)[1]
        return math.log(len(mean)) + (mean * mean.log()).sum()

    leaves = ("anchors", "prototypes")
    out = {"power_law": law({"prototypes": torch.tensor(x["prototypes"]).double()}).numpy()}
    for rounds in (0, 3):
        out |= graded(f"pmsn_sk{rounds}_{{}}", lambda t: pmsn(t, rounds), x, leaves)
    msn = graded("{}", lambda t: entropies(t, 3)[0] + msn_regulariser(t), x, leaves,
                 lambda t: {"msn_ce": entropies(t, 3)[0], "msn_rloss": msn_regulariser(t)})
    return out | {("official_" if key.startswith("msn_") else "msn_sk3_") + key: value for key, value in msn.items()}


def pmsn_inputs(rng):
    tensors = {"anchors": normal(rng, 3 * 10, 7), "targets": normal(rng, 10, 7), "prototypes": normal(rng, 9, 7)}
    return tensors, {"B": 10, "K": 9, "d": 7, "views": 3, "temperature": 0.2, "sharpen_temperature": 0.5, "power_law_exponent": 0.6,
                     "regularisation_weight_sk0": 0.7, "regularisation_weight_sk3": 1.3}


def adjusted_outputs(x, meta):
    pi = x["counts"] / x["counts"].sum()
    out = {"pi": pi}
    for tau in (0.5, 1.0, 2.0):
        def loss(t):
            adjusted = t["logits"] + torch.log(torch.tensor(pi ** tau + 1e-12)).to(t["logits"].dtype)
            return F.cross_entropy(adjusted, t["label"])
        found = graded(f"{{}}_tau{tau}", loss, {key: x[key] for key in ("logits", "label")}, ("logits",))
        out |= {key: value.reshape(1) if value.ndim == 0 else value for key, value in found.items()}
    return out


def adjusted_inputs(rng):
    counts = np.append(rng.integers(1, 90, 6), 0)
    return {"counts": counts, "logits": 3 * normal(rng, 15, 7), "label": rng.integers(0, 7, 15)}, {"floor": "1e-12, added after raising to tau"}


def memory_outputs(x, meta):
    beta, most = float(meta["beta"]), float(meta["max_strength"])
    out = {key: [] for key in ("memory", "weight", "weight_gh_port", "probability_k1", "strength_k1", "strength_k2")}
    memory = None
    for loss, draw in zip(x["loss"].astype(np.float64), x["uniform_draw"]):
        memory = loss if memory is None else beta * memory + (1 - beta) * loss
        s = (memory - memory.mean()) / memory.std(ddof=1)
        weight = 0.5 + s / (2 * abs(s).max())
        found = {"memory": memory, "weight": weight, "weight_gh_port": weight, "probability_k1": weight,
                 "strength_k1": most / 3 + most * 2 / 3 * weight, "strength_k2": 5 + (most - 5) * weight * draw}
        for key, value in found.items():
            out[key].append(value)
    kinds = {key: np.float32 if key in ("memory", "weight", "weight_gh_port") else np.float64 for key in out}
    return {key: np.stack(values).astype(kinds[key]) for key, values in out.items()}


def memory_inputs(rng):
    loss = (1 + rng.gamma(2, 0.7, (4, 23))).astype(np.float32)
    order = np.stack([rng.permutation(23) for _ in range(4)])
    return {"loss": loss, "order": order, "uniform_draw": rng.uniform(size=(4, 23))}, {"N": 23, "batch": 5, "beta": 0.8, "epochs": 4, "max_strength": 30}


def masks_outputs(x, meta):
    out = {}
    for which in ("normal", "ties"):
        layers = [x[f"{which}_w{i}"] for i in range(sum(key.startswith(which + "_w") for key in x))]
        sizes = np.sort(np.concatenate([abs(w).ravel() for w in layers]))
        for p in numbers(meta["fractions"]):
            threshold = sizes[min(math.ceil(p * len(sizes)), len(sizes) - 1)]
            for i, w in enumerate(layers):
                out[f"{which}_mask{i}_p{p}"] = (abs(w) >= threshold).astype(np.uint8)
            out[f"{which}_threshold_p{p}"] = np.array([threshold], np.float32)
            out[f"{which}_density_p{p}"] = np.array([(sizes >= threshold).mean()])
    return out


def masks_inputs(rng):
    shapes = [(5, 3, 3, 3), (7, 5, 1, 1)]
    tensors = {f"normal_w{i}": normal(rng, *shape) for i, shape in enumerate(shapes)}
    tensors |= {f"ties_w{i}": np.round(4 * normal(rng, *shape)) / 4 for i, shape in enumerate(shapes)}
    return {key: value.astype(np.float32) for key, value in tensors.items()}, {"fractions": "0.75, 0.5", "shapes": shapes}


def labels_outputs(x, meta):
    out, powers = {}, x["probabilities"] ** float(meta["power"])
    n, k = powers.shape
    for which in ("cifar", "main"):
        c, rounds, error = np.full(n, 1 / n), 0, np.inf
        while error > float(meta["tolerance_" + which]):
            r = 1 / k / (c @ powers)
            before, c = c, 1 / n / (powers @ r)
            if rounds % 10 == 0:
                error = abs(before / c - 1).sum()
            rounds += 1
        plan = (c[:, None] * powers * r).T
        out |= {f"labels_{which}": plan.argmax(0), f"iterations_{which}": np.array([rounds])}
        if which == "cifar":
            out["cost_cifar"] = np.array([-np.log(x["probabilities"][np.arange(n), plan.argmax(0)]).mean()])
        else:
            best = np.sort(np.log(plan), 0)
            out |= {"plan_main": plan, "log_margin_main": best[-1] - best[-2]}
    return out


def labels_inputs(rng):
    p = np.exp(1.5 * rng.normal(size=(410, 13)) + rng.normal(size=13))
    return {"probabilities": p / p.sum(1, keepdims=True)}, {"K": 13, "N": 410, "power": 4, "tolerance_cifar": 0.005, "tolerance_main": 0.3,
                                                           "error_checked": "every 10th iteration starting with the first"}


# Name → inputs, outputs, options of the outputs, tolerance; and which tensors are inputs.
FILES = {
    "simsiam_loss": (simsiam_inputs, simsiam_outputs, {}, 1e-6),
    "byol_loss": (byol_inputs, byol_outputs, {}, 2e-6),
    "barlow_loss": (barlow_inputs, barlow_outputs, {}, 5e-6),
    "vicreg_loss": (vicreg_inputs, vicreg_outputs, {}, 1e-5),
    "mocov2_queue": (mocov2_inputs, mocov2_outputs, {}, 1e-5),
    "mocov3_loss": (mocov3_inputs, mocov3_outputs, {}, 2e-6),
    "swav_loss": (swav_inputs, swav_outputs, {}, 5e-6),
    "pmsn_loss": (pmsn_inputs, pmsn_outputs, {}, 5e-6),
    "logit_adjusted_ce": (adjusted_inputs, adjusted_outputs, {}, 2e-6),
    "bcl_memory": (memory_inputs, memory_outputs, {}, 1e-4),
    "sela_labels": (labels_inputs, labels_outputs, {}, 1e-10),
    "sdclr_masks": (masks_inputs, masks_outputs, {}, 1e-6),
}
INPUTS = re.compile(r"anchors|targets|[pqkt][12]|Wq|Wk|bq|bk|x_q|x_k|ptr|queue|prototypes|counts|logits|label|loss|order|probabilities|uniform_draw|(normal|ties)_w\d+")
# Named as inputs are, computed all the same: a file's own loss, but for the memory, whose losses are given.
OUTPUTS = {(name, "loss") for name in FILES if name != "bcl_memory"} | {("mocov2_queue", "logits")}
