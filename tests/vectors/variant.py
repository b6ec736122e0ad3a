#!/usr/bin/env python3
"""Makes a second set of parity vectors, with other shapes, seeds and hyper-parameters, from the plain formulas in README.md.

    variant.py DIR [--given DIR …]    then    GH_VECTORS=DIR ctest --test-dir build -L parity

First the formulas are put to the given inputs: outputs that differ from the given ones by more than the README's tolerance stop the
script, and so does an output it cannot compute. Needs numpy, torch, safetensors and Pillow (before 13, which resizes tall crops otherwise).
"""
import argparse
import ast
import pathlib
import re
import sys

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps
from safetensors import safe_open
from safetensors.numpy import save_file

import variant_methods
from variant_methods import numbers, unit

HERE = pathlib.Path(__file__).resolve().parent
F64 = torch.float64


def both(name, function, *inputs):
    """The outputs of a float32 run, and under …_f64 those of a run in float64."""
    out = {}
    for suffix, dtype in (("", torch.float32), ("_f64", F64)):
        values = function(*(None if x is None else torch.tensor(x).to(dtype) for x in inputs))
        out |= {name.format(key) + suffix: value.detach().numpy() for key, value in values.items()}
    return out


def smooth_picture(rng, height, width, contrast=1.0):
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x * rng.uniform(0.1, 0.6) + y * rng.uniform(0.1, 0.6) + rng.uniform(0, 6)) for _ in range(3)]
    values = 127 + contrast * (90 * np.stack(waves, -1) + rng.normal(0, 25, (height, width, 3)))
    return values.clip(0, 255).astype(np.uint8)


# ---- Geometric Harmonization ---------------------------------------------------------------------


def sinkhorn(t, pi, epsilon, iterations):
    n, k = t.shape
    pi = torch.full((k,), 1 / k, dtype=t.dtype) if pi is None else (pi / pi.sum()).to(t.dtype)
    g = torch.exp(t / epsilon)
    c = torch.full((n,), 1 / n, dtype=t.dtype)
    for _ in range(iterations):
        r = pi / (c @ g)
        c = 1 / n / (g @ r)
    return n * r * g * c[:, None]


def sinkhorn_outputs(x, meta):
    out = {}
    for prior in ["none"] + [key[3:] for key in x if key.startswith("pi_")]:
        for count in map(int, numbers(meta["iterations"])):
            pi = None if prior == "none" else x["pi_" + prior]
            out |= both(f"Q_{prior}_it{count}{{}}", lambda t, p: {"": sinkhorn(t, p, float(meta["epsilon"]), count)}, x["t"], pi)
    return out


def sinkhorn_inputs(n, k, epsilon, iterations, priors):
    def make(rng):
        zeros = rng.integers(1, 9, k).astype(float)
        zeros[1::4] = 0
        random = rng.lognormal(0, 1, k)
        all_priors = {"uniform": np.full(k, 1 / k), "unnormalised": rng.integers(5, 60, k).astype(float), "zeros": zeros / zeros.sum(),
                      "random": random / random.sum()}
        t = unit(torch.tensor(rng.normal(size=(n, k)))).float().numpy()
        return ({"t": t} | {f"pi_{p}": all_priors[p] for p in priors},
                {"N": n, "K": k, "epsilon": epsilon, "iterations": iterations})
    return make


def anchor_p(z1, z2, temperature):
    """p = s_pos/(s_pos + Σ s_neg) of the 2B anchors."""
    z = torch.cat([unit(z1), unit(z2)])
    b = len(z1)
    s = torch.exp(z @ z.T / temperature)
    partner = torch.arange(2 * b).roll(b)
    positive = s[torch.arange(2 * b), partner]
    negative = s.masked_fill(torch.eye(2 * b, dtype=bool), 0).scatter(1, partner[:, None], 0).sum(1)
    return positive / (positive + negative)


def per_sample(z1, z2, temperature, exponent):
    p = anchor_p(z1, z2, temperature)
    return (-(1 - p) ** exponent * torch.log(p)).view(2, -1).mean(0)


def ntxent_outputs(x, meta):
    out = {}
    exponent = float(meta.get("focal_exponent", 0))
    for t in numbers(meta["temperatures"]):
        def run(z1, z2):
            z1.requires_grad_(), z2.requires_grad_()
            values = per_sample(z1, z2, t, exponent)
            values.mean().backward()
            return {"per_sample": values, "mean": values.mean(), "dz1": z1.grad, "dz2": z2.grad}
        out |= both(f"{{}}_t{t}", run, x["z1"], x["z2"])
    return out


def two_views(rng, b, d):
    z1 = rng.normal(size=(b, d))
    return {"z1": z1.astype(np.float32), "z2": (z1 + 0.7 * rng.normal(size=(b, d))).astype(np.float32)}


def ntxent_inputs(b, d, temperatures, **more):
    return lambda rng: (two_views(rng, b, d), {"B": b, "d": d, "temperatures": temperatures} | more)


def frame(a):
    k = len(a)
    p, _, v = np.linalg.svd(a, full_matrices=False)
    return np.sqrt(k / (k - 1)) * (np.eye(k) - 1 / k) @ p @ v


def loss_outputs(x, meta):
    value = {key: float(text) for key, text in meta.items()}
    out = {}
    for which in ("pi", "none"):
        def run(z1, z2, m, pi):
            z1.requires_grad_(), z2.requires_grad_()
            t1, t2 = unit(z1 @ m.T), unit(z2 @ m.T)
            q1, q2 = (sinkhorn(t.detach(), pi, value["epsilon"], int(value["sinkhorn_iterations"])) for t in (t1, t2))
            terms = [-(q * torch.log_softmax(t / value["softmax_temperature"], 1)).sum(1).mean() for q, t in ((q1, t2), (q2, t1))]
            loss, ntxent = sum(terms), per_sample(z1, z2, value["ntxent_temperature"], 0).mean()
            total = ntxent + value["gh_weight"] * loss
            dz = torch.autograd.grad(loss, (z1, z2), retain_graph=True)
            total_dz = torch.autograd.grad(total, (z1, z2))
            return {f"loss_{which}": loss, f"dz1_{which}": dz[0], f"dz2_{which}": dz[1], f"Q1_{which}": q1, f"Q2_{which}": q2, "t1": t1,
                    "ntxent_mean": ntxent, f"total_{which}": total, f"total_dz1_{which}": total_dz[0], f"total_dz2_{which}": total_dz[1]}
        out |= both("{}", run, x["z1"], x["z2"], x["M"], x["pi"] if which == "pi" else None)
    return out


def loss_inputs(rng):
    b, k, d = 40, 24, 72
    pi = rng.lognormal(0, 1, k)
    tensors = two_views(rng, b, d) | {"M": frame(rng.normal(size=(k, d))).astype(np.float32), "pi": pi / pi.sum()}
    return tensors, {"B": b, "K": k, "d": d, "epsilon": 0.08, "gh_weight": 0.7, "ntxent_temperature": 0.35, "sinkhorn_iterations": 120,
                     "softmax_temperature": 0.17}


def etf_outputs(x, meta):
    out = {}
    frames = {f"case{i}": x[f"case{i}_A"] for i in range(len(ast.literal_eval(meta["cases"])))}
    for name, a in frames.items():
        out[name + "_M"] = frame(a)
        out[name + "_gram"] = out[name + "_M"] @ out[name + "_M"].T
    for name, m in [(name, out[name + "_M"]) for name in frames] + [("shipped", x[key]) for key in x if key == "shipped_M"]:
        gram = m @ m.T
        others = gram[~np.eye(len(m), dtype=bool)]
        out[name + "_stats"] = np.array([abs(np.linalg.norm(m, axis=1) - 1).max(), others.min(), others.max(), abs(m.sum(0)).max()])
    return out


def etf_inputs(rng):
    cases = [(6, 11), (17, 17), (12, 40), (5, 4)]
    return ({f"case{i}_A": rng.normal(size=shape) for i, shape in enumerate(cases)},
            {"cases": cases, "stats": "max|norm-1|, min offdiag, max offdiag, max|column sum|"})


def refreshed(epoch1, warm_up):
    return epoch1 >= warm_up and (epoch1 % 20 == 0 or epoch1 == warm_up)


def histogram(table):
    return np.bincount(table.argmax(1), minlength=table.shape[1])


def table_cifar_outputs(x, meta):
    n, k, batch, warm_up = (int(meta[key]) for key in ("N", "K", "batch", "warm_up"))
    table = np.zeros((n, k), np.float32)
    tables, priors, where, betas = [], [], [], []
    for e, epoch in enumerate(x["epochs0"].tolist()):
        beta = float(meta["beta_warm"] if epoch < warm_up else meta["beta"])
        for b in range(-(-n // batch)):
            rows = x["order"][e][b * batch:(b + 1) * batch]
            t = unit(torch.tensor(x["z"][e][rows] @ x["M"].T)).numpy()
            table[rows] = t if epoch == 0 else beta * table[rows] + (1 - beta) * t
            if refreshed(epoch + 1, warm_up):
                priors.append(histogram(table) / n)
                where.append([epoch, b])
        tables.append(table.copy())
        betas.append(beta)
    return {"table_after_epoch": np.stack(tables), "pi": np.array(priors), "pi_epoch0_batch": np.array(where), "beta": np.array(betas)}


def table_cifar_inputs(rng):
    n, k, d, epochs = 45, 7, 10, [0, 1, 2, 3, 4, 19, 20, 39]
    return ({"M": frame(rng.normal(size=(k, d))).astype(np.float32), "epochs0": np.array(epochs),
             "order": np.stack([rng.permutation(n) for _ in epochs]), "z": rng.normal(size=(len(epochs), n, d)).astype(np.float32)},
            {"N": n, "K": k, "d": d, "batch": 13, "warm_up": 3, "beta": 0.99, "beta_warm": 0.8,
             "note": "table starts at zero, first epoch adds (=assigns)"})


def table_large_outputs(x, meta):
    n, k, first, warm_up = (int(meta[key]) for key in ("N", "K", "first_table_epoch", "warm_up"))
    floor = float(meta["floor"])
    table = np.zeros((n, k), np.float32)
    tables, priors, where, betas = [], [], [], []
    for logits, epoch in zip(x["epoch_logits"], x["epochs1"].tolist()):
        beta = float(meta["beta_warm"] if epoch <= warm_up else meta["beta"])
        if epoch >= first:
            table = logits if epoch == first else (beta * table + (1 - beta) * logits).astype(np.float32)
        if refreshed(epoch + 1, warm_up):
            priors.append((histogram(table) + floor) / (n + floor * k))
            where.append(epoch)
        tables.append(table.copy())
        betas.append(beta)
    return {"table_after_epoch": np.stack(tables), "pi": np.array(priors), "pi_epoch1": np.array(where), "beta": np.array(betas)}


def table_large_inputs(rng):
    n, k, epochs = 55, 6, [3, 4, 5, 6, 7, 8, 18, 19, 20, 39]
    logits = rng.normal(size=(len(epochs) * n, k))
    return ({"epochs1": np.array(epochs), "epoch_logits": unit(torch.tensor(logits)).float().view(len(epochs), n, k).numpy()},
            {"N": n, "K": k, "first_table_epoch": 4, "warm_up": 7, "beta": 0.99, "beta_warm": 0.8, "floor": 30})


def half_cosine(high, low, position, length):
    return low + (high - low) * (1 + np.cos(np.pi * position / length)) / 2


def gh_schedules_outputs(x, meta, linear=10, ramps=(10, 30)):
    value = {key: float(text) for key, text in meta.items() if key != "index"}
    lr, lr_min, warm_up, epochs = (value[key] for key in ("lr", "lr_min", "warm_up", "epochs"))
    e = np.arange(1, epochs + 1)
    early = lr * e / linear
    n = np.arange(1, epochs - warm_up + 1)

    def two_stage(low, high):
        return np.where(e < linear, early, np.where(e < warm_up, half_cosine(lr, low, e - linear, warm_up - linear),
                                                    half_cosine(high, lr_min, e - warm_up, epochs - warm_up)))
    cifar, large = ramps
    return {"lr_baseline": np.where(e < linear, early, half_cosine(lr, lr_min, e - linear, epochs - linear)),
            "lr_gh_cifar": two_stage(value["stage_cifar"], value["stage_cifar"]),
            "lr_gh_large": two_stage(value["stage_large"], value["stage_large"]),
            "lr_gh_split": two_stage(value["split_lr_min_stage1"], value["split_lr_max_stage2"]),
            f"gh_weight_cifar_ramp{cifar}": np.minimum(1, n / cifar), f"gh_weight_large_ramp{large}": np.minimum(1, n / large),
            f"gh_weight_large_sdclr_ramp{large}": np.minimum(1, (n + 1) / large)}


def gh_schedules_inputs(rng):
    return {}, {"epochs": 130, "lr": 0.8, "lr_min": 1e-4, "stage_cifar": 0.25, "stage_large": 0.05, "split_lr_min_stage1": 0.15,
                "split_lr_max_stage2": 0.6, "warm_up": 45,
                "index": "lr arrays: entry i is epoch i+1; gh_weight arrays: entry i is epoch warm_up+1+i"}


def structure_outputs(x, meta):
    def objective(m, tau, rows):
        s = unit(m) @ unit(m).T / tau
        return torch.logsumexp(s, 1).mean() if rows else torch.logsumexp(s.flatten(), 0)

    out = {}
    for tau in ast.literal_eval(meta["taus"]):
        for kind in ("row", "all"):
            m = torch.tensor(x["M"]).requires_grad_()
            value = objective(m, tau, kind == "row")
            out[f"{kind}_objective_tau{tau}"] = value.detach().numpy()
            out[f"{kind}_gradient_tau{tau}"] = torch.autograd.grad(value, m)[0].numpy()
    rate, beta1, beta2, eps, tau, steps = numbers(meta["adam"])
    m = torch.tensor(x["M"]).requires_grad_()
    first, second, losses = torch.zeros_like(m), torch.zeros_like(m), []
    for step in range(1, int(steps) + 2):
        loss = objective(m, tau, True)
        losses.append(loss.item())
        if step > steps:
            break
        g, = torch.autograd.grad(loss, m)
        first, second = beta1 * first + (1 - beta1) * g, beta2 * second + (1 - beta2) * g * g
        change = rate * (first / (1 - beta1 ** step)) / ((second / (1 - beta2 ** step)).sqrt() + eps)
        m = (m.detach() - change).requires_grad_()
    return out | {"adam_losses": np.array(losses), f"adam_x_after{int(steps)}": m.detach().numpy()}


def structure_inputs(rng):
    return {"M": rng.normal(size=(13, 5))}, {"K": 13, "d": 5, "taus": [0.06, 0.25], "adam": "lr 2e-3, betas .9 .999, eps 1e-8, tau 0.06, 30 steps"}


# ---- other methods and data ----------------------------------------------------------------------


def lloyd(x, centroids, rounds):
    labels = None
    for iteration in range(1, rounds + 1):
        previous, labels = labels, ((x[:, None] - centroids) ** 2).sum(2).argmin(1)
        if previous is not None and (previous == labels).all():
            break
        assert len(set(labels)) == len(centroids), "an empty cluster has no plain formula"
        centroids = np.stack([x[labels == k].mean(0) for k in range(len(centroids))])
    distances = ((x[:, None] - centroids) ** 2).sum(2)
    return centroids, distances.argmin(1), distances.min(1).sum(), iteration


def kmeans_outputs(x, meta):
    out = {}
    most, few = map(int, numbers(meta["max_iter"]))
    for case in {key[:-2] for key in x if key.endswith("_X")}:
        for suffix, rounds in (("", most), (f"_it{few}", few)):
            centroids, labels, inertia, count = lloyd(x[case + "_X"], x[case + "_init"], rounds)
            out |= {f"{case}_centroids{suffix}": centroids, f"{case}_labels{suffix}": labels, f"{case}_inertia{suffix}": np.array([inertia]),
                    f"{case}_iterations{suffix}": np.array([count])}
    return out


def kmeans_inputs(rng):
    means = 6 * rng.normal(size=(8, 9))
    easy, hard = means[rng.integers(8, size=310)] + rng.normal(size=(310, 9)), rng.normal(size=(270, 9))
    return ({"easy_X": easy, "easy_init": easy[rng.permutation(310)[:8]], "hard_X": hard, "hard_init": hard[rng.permutation(270)[:11]]},
            {"algorithm": "lloyd", "tol": 0, "max_iter": "40 and 2"})


def lars_outputs(x, meta):
    wd, momentum, eta = (float(meta[key]) for key in ("weight_decay", "momentum", "eta"))
    names = [key[5:] for key in x if key.startswith("init.")]
    out = {}
    for kind in ("barlow", "barlow_nofilter"):
        def run(lr, *inits_and_gradients):
            results = {}
            for name, p, gradients in zip(names, inits_and_gradients[::2], inits_and_gradients[1::2]):
                buffer, after = torch.zeros_like(p), []
                for rate, g in zip(lr, gradients):
                    if p.dim() > 1 or kind == "barlow_nofilter":
                        g = g + wd * p
                        if p.norm() > 0 and g.norm() > 0:
                            g = g * (eta * p.norm() / g.norm())
                    buffer = momentum * buffer + g
                    p = p - rate * buffer
                    after.append(p)
                results[f"{kind}.{name}"] = torch.stack(after)
            return results
        out |= both("{}", run, x["lr"], *(x[part + name] for name in names for part in ("init.", "grad.")))
    return out


def lars_inputs(rng):
    shapes = {"bias": (9,), "conv": (3, 5, 1, 3), "weight": (11, 4), "zero_weight": (2, 6), "scale": (4,)}
    tensors = {"lr": np.array([0.1, 0.3, 0.25, 0.05, 0.2])}
    for name, shape in shapes.items():
        tensors["init." + name] = (rng.normal(size=shape) * (name != "zero_weight")).astype(np.float32)
        tensors["grad." + name] = rng.normal(size=(5, *shape)).astype(np.float32)
    return tensors, {"steps": 5, "eta": 0.002, "momentum": 0.8, "weight_decay": 0.03}


def ssl_schedules_outputs(x, meta):
    value = {key: float(text) for key, text in meta.items() if not key.startswith("ts_")}

    def warm_cosine(peak, low, position, warm_up, end):
        return np.where(position < warm_up, peak * position / warm_up, half_cosine(peak, low, position - warm_up, end - warm_up))

    steps = value["byol_steps"]
    k = np.arange(steps + 3)
    e = x["mocov3_epoch"]
    per_epoch = value["barlow_steps_per_epoch"]
    step = np.arange(value["barlow_epochs"] * per_epoch)
    scale = value["barlow_batch"] / 256
    out = {"byol_ema": 1 - (1 - value["byol_base"]) * (1 + np.cos(np.pi * np.minimum(k, steps) / steps)) / 2,
           "byol_lr": warm_cosine(value["byol_lr_base"] * value["byol_batch"] / 256, 0, k[:-2], value["byol_warmup"], steps),
           "mocov3_momentum": half_cosine(value["mocov3_base"], 1, e, value["mocov3_epochs"]),
           "mocov3_lr": warm_cosine(value["mocov3_lr_base"], 0, e, value["mocov3_warmup"], value["mocov3_epochs"])}
    for part, rate in (("weights", "barlow_lr_w"), ("biases", "barlow_lr_b")):
        peak = value[rate] * scale
        out["barlow_lr_" + part] = warm_cosine(peak, peak * 1e-3, step, value["barlow_warmup_epochs"] * per_epoch,
                                               value["barlow_epochs"] * per_epoch)
    for name in [key for key in meta if key.startswith("ts_")]:
        low, high, t_max, _, last = numbers(meta[name].replace("..", " "))
        out["ts_tau_" + name[3:]] = half_cosine(high, low, np.arange(1, last + 1), t_max).astype(np.float32)
    return out


def ssl_schedules_inputs(rng):
    return ({"mocov3_epoch": np.arange(25 * 6) / 6},
            {"byol_base": 0.97, "byol_batch": 384, "byol_lr_base": 0.2, "byol_steps": 150, "byol_warmup": 12, "mocov3_base": 0.98,
             "mocov3_epochs": 25, "mocov3_iters_per_epoch": 6, "mocov3_lr_base": 0.9, "mocov3_warmup": 4, "barlow_batch": 320,
             "barlow_epochs": 22, "barlow_lr_b": 0.003, "barlow_lr_w": 0.15, "barlow_steps_per_epoch": 5, "barlow_warmup_epochs": 10,
             "ts_a": "min 0.05, max 0.8, t_max 90, epochs 1..181, computed in float32",
             "ts_b": "min 0.2, max 0.6, t_max 40, epochs 1..95, computed in float32"})


def cifar_lt_outputs(x, meta, ratios=(10, 50, 100)):
    classes, per_class = int(meta["classes"]), int(meta["per_class"])
    out = {}
    for ratio in ratios:
        counts = [int(per_class * (1 / ratio) ** (c / (classes - 1))) for c in range(classes)]
        stream, chosen = np.random.RandomState(int(meta["numpy_legacy_seed"])), []
        for c, count in enumerate(counts):
            positions = np.where(x["labels"] == c)[0]
            stream.shuffle(positions)
            chosen.append(positions[:count])
        out |= {f"counts_R{ratio}": np.array(counts), f"indices_R{ratio}": np.concatenate(chosen)}
    return out


def cifar_lt_inputs(rng):
    return ({"labels": rng.permutation(np.repeat(np.arange(23), 70))},
            {"classes": 23, "per_class": 70, "numpy_legacy_seed": 11, "type": "exp", "imb_factor": "1/R"})


# ---- pictures: Pillow is the definition ----------------------------------------------------------


def pictures(x):
    return {key: Image.fromarray(x[key]) for key in x if re.fullmatch(r"img\d+", key)}


def shifted_hue(image, factor):
    h, s, v = image.convert("HSV").split()
    moved = (np.asarray(h).astype(int) + int(factor * 255)) % 256
    return Image.merge("HSV", (Image.fromarray(moved.astype(np.uint8)), s, v)).convert("RGB")


ADJUST = {"b": lambda i, f: ImageEnhance.Brightness(i).enhance(f), "c": lambda i, f: ImageEnhance.Contrast(i).enhance(f),
          "s": lambda i, f: ImageEnhance.Color(i).enhance(f), "h": shifted_hue}


def colour_outputs(x, meta, orders=("bcsh", "hscb")):
    operations = {"brightness": (ADJUST["b"], "factors"), "contrast": (ADJUST["c"], "factors"), "saturation": (ADJUST["s"], "factors"),
                  "hue": (shifted_hue, "hue_factors"), "solarize": (ImageOps.solarize, "solarize_thresholds"),
                  "blur": (lambda i, r: i.filter(ImageFilter.GaussianBlur(r)), "blur_radii")}
    out = {}
    for name, image in pictures(x).items():
        for key, (operation, values) in operations.items():
            out[f"{name}_{key}"] = np.stack([np.asarray(operation(image, v)) for v in x[values].tolist()])
        out[name + "_gray3"] = np.asarray(image.convert("L").convert("RGB"))
        out[name + "_hflip"] = x[name][:, ::-1].copy()
    mean, std = (np.array(numbers(meta["normalise_" + key])) for key in ("mean", "std"))
    out["img0_to_tensor_normalised"] = ((x["img0"] / 255 - mean) / std).transpose(2, 0, 1).astype(np.float32)
    for order in orders:
        image = pictures(x)["img0"]
        for letter in order:
            image = ADJUST[letter](image, x["chain_bcsh_values"]["bcsh".index(letter)].item())
        out["img0_chain_" + order] = np.asarray(image)
    return out


def colour_inputs(rng):
    return ({"img0": smooth_picture(rng, 27, 27), "img1": smooth_picture(rng, 41, 22), "img2": smooth_picture(rng, 35, 66, 0.4),
             "img3": smooth_picture(rng, 5, 9), "factors": np.array([0.1, 0.45, 0.97, 1.0, 1.61, 2.2]),
             "hue_factors": np.array([-0.41, -0.2, 0.013, 0.3, 0.49]), "solarize_thresholds": np.array([1, 90, 200]),
             "blur_radii": np.array([0.2, 0.77, 1.0, 1.5, 2.6]), "chain_bcsh_values": np.array([0.7, 1.3, 0.62, -0.13])},
            {"normalise_mean": "0.485 0.456 0.406", "normalise_std": "0.229 0.224 0.225"})


def crop_outputs(x, meta, sizes=(32, 48)):
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
    return {f"{name}_{kind}_{size}": np.stack([np.asarray(image.crop((l, t, l + w, t + h)).resize((size, size), filters[kind]))
                                               for t, l, h, w in x[name + "_boxes"].tolist()])
            for name, image in pictures(x).items() for size in sizes for kind in filters}


def crop_inputs(rng):
    tensors = {}
    for name, (height, width) in {"img0": (30, 30), "img1": (45, 26), "img2": (52, 91), "img3": (11, 7)}.items():
        boxes = [[0, 0, height, width], [height - 3, width - 2, 3, 2], [0, width // 3, height, max(1, width // 9)]]
        for _ in range(4):
            h, w = rng.integers(1, height + 1), rng.integers(1, width + 1)
            boxes.append([rng.integers(0, height - h + 1), rng.integers(0, width - w + 1), h, w])
        tensors |= {name: smooth_picture(rng, height, width), name + "_boxes": np.array(boxes, dtype=np.int64)}
    return tensors, {"boxes": "top, left, height, width"}


def eval_outputs(x, meta, sides=(24, 40), centre=(40, 32), pad=4):
    def resized(image, side):
        w, h = image.size
        size = (side, int(side * h / w)) if w <= h else (int(side * w / h), side)
        return image.resize(size, Image.Resampling.BILINEAR)

    out = {}
    for name, image in pictures(x).items():
        out |= {f"{name}_resize{side}_bilinear": np.asarray(resized(image, side)) for side in sides}
        whole, size = np.asarray(resized(image, centre[0])), centre[1]
        top, left = (round((n - size) / 2) for n in whole.shape[:2])
        out[f"{name}_resize{centre[0]}_crop{size}"] = whole[top:top + size, left:left + size]
        out[f"{name}_pad{pad}"] = np.pad(x[name], ((pad, pad), (pad, pad), (0, 0)))
    return out


def eval_inputs(rng):
    return ({"img0": smooth_picture(rng, 28, 28), "img1": smooth_picture(rng, 33, 47), "img2": smooth_picture(rng, 90, 57)}, {})


BOOSTED = {"ShearX": (0, 0.6), "ShearY": (0, 0.6), "TranslateX": (0, 0.66), "TranslateY": (0, 0.66), "Rotate": (0, 60), "AutoContrast": (0, 1),
           "Invert": (0, 1), "Equalize": (0, 1), "Solarize": (0, 110), "Posterize": (4, 8), "Contrast": (0.1, 1.9), "Color": (0.1, 1.9),
           "Brightness": (0.1, 1.9), "Sharpness": (0.1, 1.9), "Cutout": (0, 0.4)}


def boosted(name, image, v, xy, fill):
    def affine(*coefficients):
        return image.transform(image.size, Image.Transform.AFFINE, coefficients)

    def cut_out():
        side, out = v * image.width, image.copy()
        left, top = (int(max(0, centre - side / 2)) for centre in xy)
        right, bottom = int(min(image.width, left + side)), int(min(image.height, top + side))
        ImageDraw.Draw(out).rectangle((left, top, right, bottom), fill)
        return out if v > 0 else image

    return {"ShearX": lambda: affine(1, v, 0, 0, 1, 0), "ShearY": lambda: affine(1, 0, 0, v, 1, 0),
            "TranslateX": lambda: affine(1, 0, v * image.width, 0, 1, 0), "TranslateY": lambda: affine(1, 0, 0, 0, 1, v * image.height),
            "Rotate": lambda: image.rotate(v), "AutoContrast": lambda: ImageOps.autocontrast(image), "Invert": lambda: ImageOps.invert(image),
            "Equalize": lambda: ImageOps.equalize(image), "Solarize": lambda: ImageOps.solarize(image, v),
            "Posterize": lambda: ImageOps.posterize(image, int(v)), "Contrast": lambda: ImageEnhance.Contrast(image).enhance(v),
            "Color": lambda: ImageEnhance.Color(image).enhance(v), "Brightness": lambda: ImageEnhance.Brightness(image).enhance(v),
            "Sharpness": lambda: ImageEnhance.Sharpness(image).enhance(v), "Cutout": cut_out}[name]()


def boosted_outputs(x, meta):
    strengths, fill = x["strengths"].tolist(), tuple(map(int, meta["cutout_fill"].split(",")))
    names = meta["op_order"].split(", ")
    values = np.array([[low + s / 30 * (high - low) for s in strengths] for low, high in map(BOOSTED.get, names)])
    out = {"op_values": values}
    for prefix, key, chosen in (("", "image", names), ("2_", "image2", ["AutoContrast", "Equalize", "Contrast", "Sharpness"])):
        for name in chosen:
            for j, s in enumerate(strengths):
                if j and name in ("AutoContrast", "Invert", "Equalize"):
                    continue
                for suffix, sign in [("_pos", 1), ("_neg", -1)] if names.index(name) < 5 else [("", 1)]:
                    v = sign * values[names.index(name)][j]
                    result = boosted(name, Image.fromarray(x[key]), v, x["cutout_xy"][j], fill)
                    out[f"{prefix}{name}_s{s}{suffix}"] = np.asarray(result)
    return out


def boosted_inputs(rng):
    strengths = np.array([1.0, 4.4, 12.0, 19.9, 27.5])
    return ({"image": smooth_picture(rng, 44, 36), "image2": smooth_picture(rng, 30, 38, 0.2), "strengths": strengths,
             "cutout_xy": rng.uniform(1, 36, (len(strengths), 2))},
            {"op_order": ", ".join(BOOSTED), "cutout_fill": "125,123,114", "sign": "pos = drawn parameter used as is, neg = parameter negated",
             "refused": "[]"})


# ---- all files -----------------------------------------------------------------------------------

# name: inputs, outputs, what the variant states in tensor names only, tolerance in float32 or of everything (the README's)
FILES = {
    "gh_sinkhorn_tall": (sinkhorn_inputs(70, 12, 0.08, "5 and 120", ["uniform", "unnormalised", "zeros", "random"]), sinkhorn_outputs, {}, 5e-6),
    "gh_sinkhorn_wide": (sinkhorn_inputs(37, 64, 0.04, "2 and 200", ["zeros", "random"]), sinkhorn_outputs, {}, 5e-6),
    "gh_loss": (loss_inputs, loss_outputs, {}, {"loss": 5e-6, "gradient": 1e-7}),
    "gh_ntxent": (ntxent_inputs(45, 72, "0.15, 0.35 and 0.8"), ntxent_outputs, {}, {"loss": 5e-6, "gradient": 1e-7}),
    "gh_focal_ntxent": (ntxent_inputs(27, 96, "0.3 and 0.7", focal_exponent=1.5), ntxent_outputs, {}, {"loss": 5e-6, "gradient": 1e-7}),
    "gh_etf": (etf_inputs, etf_outputs, {}, 1e-12),
    "gh_table_cifar": (table_cifar_inputs, table_cifar_outputs, {}, 2e-6),
    "gh_table_large": (table_large_inputs, table_large_outputs, {}, 2e-6),
    "gh_schedules": (gh_schedules_inputs, gh_schedules_outputs, {"linear": 8, "ramps": (7, 25)}, 1e-12),
    "structure_objective": (structure_inputs, structure_outputs, {}, 1e-10),
    "kmeans": (kmeans_inputs, kmeans_outputs, {}, 1e-8),
    "lars": (lars_inputs, lars_outputs, {}, 1e-6),
    "ssl_schedules": (ssl_schedules_inputs, ssl_schedules_outputs, {}, 1e-6),
    "cifar_lt_indices": (cifar_lt_inputs, cifar_lt_outputs, {"ratios": (5, 20)}, 0),
    "img_colour": (colour_inputs, colour_outputs, {"orders": ("bcsh", "schb", "hcbs")}, 0),
    "img_resized_crop": (crop_inputs, crop_outputs, {"sizes": (20, 37)}, 0),
    "img_eval": (eval_inputs, eval_outputs, {"sides": (19, 50), "centre": (50, 37), "pad": 6}, 0),
    "bcl_ops": (boosted_inputs, boosted_outputs, {}, 0),
    **variant_methods.FILES,
}
INPUTS = re.compile(r"t|pi|pi_[a-z]+|z|z[12]|M|case\d+_A|shipped_M|epochs[01]|order|epoch_logits|\w+_X|\w+_init|init\..*|grad\..*|lr|mocov3_epoch"
                    r"|labels|img\d+|img\d+_boxes|\w*factors|solarize_thresholds|blur_radii|chain_bcsh_values|image2?|strengths|cutout_xy")
# Named as inputs are, computed all the same.
OUTPUTS = variant_methods.OUTPUTS | {("gh_table_cifar", "pi"), ("gh_table_large", "pi"), ("gh_table_large", "pi_epoch1")}


def tolerance_of(name, key):
    bound = FILES[name][3]
    if key.endswith("_f64"):
        return 1e-9
    if key == "img0_to_tensor_normalised":
        return 1e-6
    return bound["gradient" if "dz" in key else "loss"] if isinstance(bound, dict) else bound


def check(name, file):
    with safe_open(file, "np") as opened:
        meta, given = opened.metadata(), {key: opened.get_tensor(key) for key in opened.keys()}
    named = (INPUTS, variant_methods.INPUTS) if name in variant_methods.FILES else (INPUTS,)
    inputs = {key: value for key, value in given.items() if any(n.fullmatch(key) for n in named) and (name, key) not in OUTPUTS}
    computed = FILES[name][1](inputs, meta)
    missing = set(given) - set(inputs) - set(computed)
    worst, wrong = {"float32 or whole": 0.0, "float64": 0.0}, []
    for key in set(given) & set(computed):
        kind = "float64" if given[key].dtype == np.float64 else "float32 or whole"
        same_kind = given[key].shape == computed[key].shape and given[key].dtype == computed[key].dtype
        difference = abs(given[key].astype(float) - computed[key].astype(float)).max() if same_kind else np.inf
        worst[kind] = max(worst[kind], difference)
        if not difference <= tolerance_of(name, key) * max(1, abs(given[key].astype(float)).max()):
            wrong.append(f"{key} differs by {difference:.2g}")
    print(f"{name:20} {len(set(given) & set(computed)):4} outputs; largest difference " + ", ".join(f"{v:.1e} ({k})" for k, v in worst.items()))
    return [f"{name}: {key} is not computed" for key in sorted(missing)] + [f"{name}: {text}" for text in sorted(wrong)]


def make(name, directory, seed):
    inputs, outputs, in_names, _ = FILES[name]
    tensors, meta = inputs(np.random.default_rng([seed, *name.encode()]))
    meta = {key: str(value) for key, value in meta.items()}
    tensors |= outputs(tensors, meta, **in_names)
    save_file({key: np.ascontiguousarray(value) if value.ndim else value for key, value in tensors.items()}, directory / f"{name}.safetensors", meta)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory", type=pathlib.Path, help="where the second set goes")
    arguments.add_argument("--given", type=pathlib.Path, nargs="*", default=[HERE, HERE.parents[2] / "shared/vectors"],
                           help="where the given set is looked for")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    problems = []
    for name in FILES:
        file = next((place / f"{name}.safetensors" for place in options.given if (place / f"{name}.safetensors").exists()), None)
        if file:
            problems += check(name, file)
        else:
            print(f"{name:20} is not given: its formulas are not checked")
    if problems:
        sys.exit("\n".join(problems))
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        make(name, options.directory, options.seed)
    print(f"wrote {len(FILES)} files; GH_VECTORS={options.directory} ctest --test-dir build -L parity")


if __name__ == "__main__":
    main()
