#!/usr/bin/env python3
"""Images to batches of views: ghhost against torchvision and Pillow, as published training code uses them.

The outputs are compared first: what ghhost drew is applied by torchvision to Pillow's images, and every byte has to be equal;
if one is not, nothing is measured. Then both sides run in turn, and the medians are printed, and the median of the rounds'
ratios, which a machine that is busy now and then moves less than a ratio of medians. The exit code is 0 when all bars are met.
Only ratios of one run count: close other programs.

  bench/views.py                      everything, on data made for the purpose (a few minutes)
  bench/views.py --only jpeg,memory   some of: cifar, decoded, jpeg, load, memory
  bench/views.py --cifar DIR          a real CIFAR-100, binary version; --photos DIR: real JPEG files, at any depth

The peer needs PyTorch and torchvision. They are put into .cache/bench-venv, several gigabytes, unless GH_BENCH_PYTHON names
a Python that has them.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from frame import BUILD, ROOT, build, in_turn

VIEWS_BENCH = BUILD / "bin/views_bench"
TARGETS = ["views_bench", "cifar", "image_files", "mlp", "simclr"]
WANTED = {"torch": "2.15.0", "torchvision": "0.29.2", "pillow": "12.3.0", "numpy": None, "safetensors": None}

WORKS = ["cifar", "decoded", "jpeg", "load", "memory"]
CIFAR_BATCH, PHOTO_BATCH, WORKERS = 512, 32, 2
CIFAR_IMAGES = 50_000                   # as many as CIFAR-100 has, so that opening it takes as long
PHOTOS, PHOTO_SIZE, PHOTO_BYTES = 200, (500, 375), 78_000
COMPARED = {"cifar": 500, "photos": 100}
FEW, MANY = 500, 20_000                 # files of the folders whose memory is compared

# Ratio, or the most seconds or megabytes.
BARS = {"cifar": (40, 60), "decoded": (7, 15), "jpeg": (5, 8), "load": (1.0, None), "memory": (16.0, None)}
TITLES = {"cifar": "CIFAR, two views, 2 threads / 2 workers", "decoded": "500×375 pixels to two 224 views, one core",
          "jpeg": "JPEG files to two 224 views, one core", "load": "opening CIFAR-100-LT",
          "memory": f"peak memory, {MANY} files over {FEW}"}


# ---- the Python of the peer ----

def missing_from(python):
    """What of WANTED this Python lacks or has in another version; None where it does not run at all."""
    code = ("import importlib.metadata as m, json, sys\n"
            "def v(n):\n"
            "    try: return m.version(n).split('+')[0]\n"
            "    except m.PackageNotFoundError: return ''\n"
            "print(json.dumps({n: v(n) for n in json.loads(sys.argv[1])}))")
    try:
        found = json.loads(subprocess.run([python, "-c", code, json.dumps(list(WANTED))], check=True,
                                          capture_output=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return None
    return {name: found[name] for name, version in WANTED.items() if not found[name] or version not in (None, found[name])}


def peer_python():
    given = os.environ.get("GH_BENCH_PYTHON")
    if given:
        python = shutil.which(given) or sys.exit(f"GH_BENCH_PYTHON={given} is no program")
        lacks = missing_from(python)
        if lacks is None or not all(lacks.values()):
            sys.exit(f"GH_BENCH_PYTHON={given} lacks " + ", ".join(n for n in lacks or WANTED if not (lacks or {}).get(n)))
        for name, version in lacks.items():
            print(f"note: the peer has {name} {version}, the bars were set with {WANTED[name]}")
        return python
    python = str(ROOT / ".cache/bench-venv/bin/python")
    if missing_from(python) != {}:
        print("getting the peer, torch and torchvision, into .cache/bench-venv: several gigabytes are downloaded.\n"
              "GH_BENCH_PYTHON=… uses a Python that has them already.", flush=True)
        if missing_from(python) is None:
            subprocess.run([sys.executable, "-m", "venv", "--clear", ROOT / ".cache/bench-venv"], check=True)
        packages = [f"{n}=={v}" if v else n for n, v in WANTED.items()]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        if subprocess.run(install).returncode != 0:
            sys.exit("the peer could not be installed")
    return python


def become_peer_python():
    """Goes on in the peer's Python: numpy and Pillow are needed for making data, too."""
    if os.environ.get("GH_BENCH_STARTED") == "views":
        return
    python = peer_python()
    os.environ["GH_BENCH_STARTED"] = "views"
    sys.stdout.flush()
    os.execv(python, [python, str(pathlib.Path(__file__).resolve()), *sys.argv[1:]])


# ---- data ----

def smooth_fields(random, count, coarse, size):
    """[count, 3, size, size]: `coarse`×`coarse` random values, linearly in between."""
    import numpy as np
    at = np.linspace(0, coarse - 1, size)
    weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(coarse))).astype(np.float32)
    return weights @ random.standard_normal((count, 3, coarse, coarse), dtype=np.float32) @ weights.T


def make_cifar(directory):
    """Files of CIFAR-100's binary version: gradients, blobs and an edge in every image."""
    import numpy as np
    directory.mkdir()
    random = np.random.default_rng(1)
    y, x = np.mgrid[:32, :32].astype(np.float32)
    for name, images in (("train.bin", CIFAR_IMAGES), ("test.bin", 1000)):
        with open(directory / name, "wb") as out:
            for begin in range(0, images, 1000):
                pixels = 128 + 40 * smooth_fields(random, 1000, 4, 32) + 15 * smooth_fields(random, 1000, 12, 32)
                angle, offset = random.uniform(0, 6.28, (1000, 1, 1)), random.uniform(-10, 10, (1000, 1, 1))
                beyond = np.cos(angle) * (x - 16) + np.sin(angle) * (y - 16) > offset
                pixels += beyond[:, None] * random.uniform(-90, 90, (1000, 3, 1, 1)).astype(np.float32)
                fine = np.arange(begin, begin + 1000) % 100
                records = np.empty((1000, 3074), np.uint8)
                records[:, 0], records[:, 1] = fine // 5, fine
                records[:, 2:] = pixels.clip(0, 255).astype(np.uint8).reshape(1000, -1)
                out.write(records.tobytes())
    for name, classes in (("coarse_label_names.txt", 20), ("fine_label_names.txt", 100)):
        (directory / name).write_text("".join(f"class_{i}\n" for i in range(classes)))


def photo_like(random):
    """[375, 500, 3]: a 1/f field as photographs have, patches with edges, colour smoother than light."""
    import numpy as np
    width, height = PHOTO_SIZE
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]) + 1 / width

    def field(slope, strength):
        waves = random.standard_normal(frequency.shape) + 1j * random.standard_normal(frequency.shape)
        values = np.fft.irfft2(waves / frequency**slope, (height, width))
        return strength * values / values.std()

    pixels = 125 + np.stack([field(1.9, 18) for _ in range(3)], -1) + field(1.35, 38)[..., None]
    y, x = np.mgrid[:height, :width]
    for _ in range(12):
        cy, cx, ry, rx = random.uniform([0, 0, 15, 15], [height, width, 120, 160])
        inside = ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 < 1
        pixels += inside[..., None] * random.uniform(-55, 55, 3)
    return (pixels + random.normal(0, 2.5, pixels.shape)).clip(0, 255).astype(np.uint8)


def make_photos(directory):
    """JPEG files of about PHOTO_BYTES in image_folder's layout, ten classes."""
    import io
    import numpy as np
    from PIL import Image
    random = np.random.default_rng(2)
    images = [Image.fromarray(photo_like(random)) for _ in range(PHOTOS)]

    def mean_bytes(quality):
        files = [io.BytesIO() for _ in images[:12]]
        for image, file in zip(images, files):
            image.save(file, "JPEG", quality=quality)
        return statistics.mean(len(file.getvalue()) for file in files)

    quality = min(range(70, 98), key=lambda q: abs(mean_bytes(q) - PHOTO_BYTES))
    for i, image in enumerate(images):
        for split in ("train", "test") if i < 10 else ("train",):
            path = directory / split / f"class_{i % 10}" / f"{i:04}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path, "JPEG", quality=quality)


def link_photos(found_in, directory):
    """PHOTOS of the files below a directory, evenly chosen, in image_folder's layout."""
    files = sorted(p.resolve() for p in found_in.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if len(files) < COMPARED["photos"]:
        sys.exit(f"{found_in} holds {len(files)} JPEG files, expected at least {COMPARED['photos']}")
    count = min(PHOTOS, len(files))
    for split, chosen in (("train", count), ("test", 10)):
        (directory / split / "all").mkdir(parents=True)
        for i in range(chosen):
            (directory / split / "all" / f"{i:04}.jpg").symlink_to(files[i * len(files) // count])


def make_folder(directory, count):
    """Links to a hundred small JPEG files."""
    import numpy as np
    from PIL import Image
    random = np.random.default_rng(3)
    place = directory / "train/all"
    place.mkdir(parents=True)
    for i in range(100):
        Image.fromarray(photo_like(random)).resize((160, 120)).save(place / f"{i:06}.jpg", quality=85)
    for i in range(100, count):
        os.link(place / f"{i % 100:06}.jpg", place / f"{i:06}.jpg")


def write_recipe(file, data, preset, batch, threads):
    file.write_text(f"""name = "{file.stem}"
[data]
{data}
[views]
preset = "{preset}"
[loader]
threads = {threads}
[backbone]
id = "mlp"
[method]
id = "simclr"
[train]
epochs = 1
batch = {batch}
optimizer = {{ id = "sgd", lr = 0.1 }}
""")
    return file


class Bench:
    """The data of a run, and recipes that read them."""

    def __init__(self, scratch, only, given):
        self.cifar, self.photos = scratch / "cifar", scratch / "photos"
        if given.cifar:
            places = [p for p in (given.cifar, given.cifar / "cifar-100-binary") if (p / "train.bin").exists()]
            self.cifar = places[0].resolve() if places else sys.exit(f"{given.cifar} has no train.bin of CIFAR-100")
        elif only & {"cifar", "load"}:
            make_cifar(self.cifar)
        if only & {"decoded", "jpeg"}:
            link_photos(given.photos, self.photos) if given.photos else make_photos(self.photos)
            sizes = [p.stat().st_size for p in photo_files(self.photos)]
            print(f"photos: {len(sizes)} JPEG files, {statistics.mean(sizes) / 1000:.0f} kB each")
        cifar = f"id = 'cifar'\nvariant = 'cifar100'\nroot = '{self.cifar}'\n"
        self.scratch, self.recipes = scratch, {
            "cifar": write_recipe(scratch / "cifar.toml", cifar, "simclr-32", CIFAR_BATCH, WORKERS),
            "load": write_recipe(scratch / "load.toml", cifar + "longtail = { law = 'exp', ratio = 100 }", "simclr-32",
                                 CIFAR_BATCH, WORKERS),
            "photos": write_recipe(scratch / "photos.toml", f"id = 'image_folder'\nroot = '{self.photos}'", "simclr-224",
                                   PHOTO_BATCH, 1)}

    def folder_recipe(self, count):
        directory = self.scratch / f"folder-{count}"
        make_folder(directory, count)
        return write_recipe(self.scratch / f"folder-{count}.toml", f"id = 'image_folder'\nroot = '{directory}'", "simclr-32",
                            64, WORKERS)


def photo_files(directory):
    """Paths in image_folder's order."""
    return sorted((directory / "train").glob("*/*.jpg"))


# ---- our side ----

def run_ours(*arguments):
    done = subprocess.run([VIEWS_BENCH, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"views_bench {' '.join(map(str, arguments))} failed:\n{done.stderr}")
    return done


def ours_speed(mode, recipe, seconds):
    return json.loads(run_ours(mode, recipe, seconds).stdout)


def opening_seconds(recipe):
    samples, seconds = re.search(r"opened (\d+) samples in ([\d.]+) s", run_ours("speed", recipe, 0.01).stderr).groups()
    return int(samples), float(seconds)


# ---- the peer ----

def normalisation(preset):
    return {"simclr-32": ([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
            "simclr-224": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])}[preset]


class PillowBlur:
    """As MoCo v2 and the GH code blur."""

    def __init__(self, low, high):
        self.range = low, high

    def __call__(self, image):
        import random
        from PIL import ImageFilter
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(*self.range)))


def peer_transform(preset):
    """The GH code's transforms: what the presets of the same name are to give."""
    from torchvision import transforms as T
    large = preset == "simclr-224"
    crop = T.RandomResizedCrop(224, scale=(0.08, 1.0), interpolation=T.InterpolationMode.BICUBIC) if large else \
        T.RandomResizedCrop(32, scale=(0.1, 1.0))
    return T.Compose([crop,
                      T.RandomHorizontalFlip(),
                      T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
                      T.RandomGrayscale(p=0.2),
                      *([T.RandomApply([PillowBlur(0.1, 2.0)], p=0.5)] if large else []),
                      T.ToTensor(),
                      T.Normalize(*normalisation(preset))])


def load_cifar(directory):
    """[n, 32, 32, 3], as torchvision's CIFAR100 keeps it."""
    import numpy as np
    records = np.fromfile(directory / "train.bin", np.uint8).reshape(-1, 3074)
    return np.ascontiguousarray(records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def load_photo(path):
    """As torchvision's ImageFolder does."""
    from PIL import Image
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class CifarPairs:
    """As torchvision's CIFAR100 with two views a sample."""

    def __init__(self, directory):
        self.pixels, self.transform = load_cifar(directory), peer_transform("simclr-32")

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        from PIL import Image
        image = Image.fromarray(self.pixels[index])
        return self.transform(image), self.transform(image)


def cifar_rate(directory, seconds):
    import torch
    loader = torch.utils.data.DataLoader(CifarPairs(directory), CIFAR_BATCH, shuffle=True, num_workers=WORKERS, drop_last=True,
                                         persistent_workers=True)
    batches, started = 0, None
    while True:
        for _ in loader:
            batches += 1
            # Workers finish at about the same time: only whole rounds of them are counted, the first one not.
            if batches % WORKERS:
                continue
            now = time.perf_counter()
            if started is None:
                started, batches = now, 0
            elif now - started >= seconds:
                return 2 * CIFAR_BATCH * batches / (now - started)


def photo_rate(work, directory, seconds):
    import torch
    torch.set_num_threads(1)
    transform, files = peer_transform("simclr-224"), photo_files(directory)
    items = [load_photo(path) for path in files] if work == "decoded" else files
    started, done = None, 0
    while True:
        for i in torch.randperm(len(items)).tolist():
            image = items[i] if work == "decoded" else load_photo(items[i])
            transform(image), transform(image)
            done += 1
            now = time.perf_counter()
            if started is None:
                started, done = (now, 0) if done == 10 else (None, done)
            elif now - started >= seconds:
                return 2 * done / (now - started)


def run_peer(work, directory, seconds):
    command = [sys.executable, __file__, "--peer", work, str(directory), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the peer of {work} failed:\n{done.stderr}")
    return float(done.stdout)


# ---- comparison ----

def apply_draw(image, draw, size, bicubic):
    """What ghhost drew for a view, by torchvision on Pillow's image; the order of operations is published code's."""
    from PIL import ImageFilter
    from torchvision.transforms import InterpolationMode as Mode, functional as F
    image = F.resized_crop(image, *draw["crop"], [size, size], Mode.BICUBIC if bicubic else Mode.BILINEAR, antialias=True)
    if draw["mirror"]:
        image = F.hflip(image)
    if draw["jitter"]:
        for which in draw["order"]:
            adjust = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)[which]
            image = adjust(image, draw["factors"][which])
    if draw["grayscale"]:
        image = F.rgb_to_grayscale(image, 3)
    if draw["blur"] > 0:
        image = image.filter(ImageFilter.GaussianBlur(radius=draw["blur"]))
    if draw["solarize"] or draw["boosted"]:
        sys.exit("a preset that is compared draws what the peer does not have")
    return image


def what_differs(name, ours, theirs, draw, position):
    from PIL import features
    apart = (ours.int() - theirs.int()).abs()
    text = (f"{name}, sample {position}: {int((apart > 0).sum())} of {apart.numel()} bytes differ, "
            f"by up to {int(apart.max())}\ndrawn: {json.dumps(draw)}")
    if name != "photos":
        return text
    linked = subprocess.run(["ldd", VIEWS_BENCH], capture_output=True, text=True).stdout
    linked = re.search(r"libjpeg\S* => (\S+)", linked)
    return text + (f"\nPillow decodes with libjpeg-turbo {features.version('libjpeg_turbo')}, ghhost with "
                   f"{os.path.realpath(linked[1]) if linked else 'a library linked statically'}")


def compare(name, bench, image_at):
    """Exits when a byte differs. Floats come after normalisation, where the order of roundings is free."""
    import numpy as np
    import torch
    from safetensors.torch import load_file
    from torchvision.transforms import functional as F
    size, preset = (224, "simclr-224") if name == "photos" else (32, "simclr-32")
    file, count = bench.scratch / f"{name}.safetensors", COMPARED[name]
    run_ours("dump", bench.recipes[name], file, count)
    ours, draws, equal, largest, problem = load_file(file), json.loads(pathlib.Path(f"{file}.json").read_text()), 0, 0.0, ""
    for i, sample in enumerate(draws):
        image = image_at(sample["position"])
        for v, draw in enumerate(sample["views"]):
            view = apply_draw(image, draw, size, bicubic=name == "photos")
            theirs = torch.from_numpy(np.array(view)).permute(2, 0, 1)
            floats = F.normalize(F.to_tensor(view), *normalisation(preset))
            same = torch.equal(ours[f"bytes{v}"][i], theirs)
            equal += same
            if same:
                largest = max(largest, float((ours[f"floats{v}"][i] - floats).abs().max()))
            problem = problem or ("" if same else what_differs(name, ours[f"bytes{v}"][i], theirs, draw, sample["position"]))
    views = 2 * len(draws)
    print(f"compared, {name}: {equal} of {views} views equal in every byte; floats within {largest:.1e}")
    if name == "photos":
        run_ours("dump-decoded", bench.recipes[name], f"{file}.decoded", count)
        decoded = load_file(f"{file}.decoded")
        if any(not torch.equal(ours[key], decoded[key]) for key in ours):
            problem = problem or "views from decoded pixels differ from views from files"
    if problem or equal < views or largest > 2e-6:
        sys.exit(f"the outputs differ, so nothing is measured\n{problem}")


def compare_outputs(bench, only):
    if "cifar" in only:
        from PIL import Image
        pixels = load_cifar(bench.cifar)
        compare("cifar", bench, lambda position: Image.fromarray(pixels[position]))
    if only & {"decoded", "jpeg"}:
        from PIL import ImageOps
        files = photo_files(bench.photos)
        # ghhost turns pictures the way their EXIF blocks say, which torchvision leaves to the caller.
        compare("photos", bench, lambda position: ImageOps.exif_transpose(load_photo(files[position])))


# ---- measuring ----

class OthersWatch:
    """How many cores other programs keep busy, from its making to cores(): all time that is not idle less our own."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        ticks, ours = list(map(int, open("/proc/stat").readline().split()[1:9])), os.times()
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for a disk
        return time.perf_counter(), busy - (ours.user + ours.system + ours.children_user + ours.children_system)

    def cores(self):
        (began, others_began), (ended, others_ended) = self.before, self.now()
        return max(0.0, (others_ended - others_began) / (ended - began))


def rate_row(work, bench, seconds, rounds):
    mode = "decoded" if work == "decoded" else "speed"
    recipe, directory = (bench.recipes["cifar"], bench.cifar) if work == "cifar" else (bench.recipes["photos"], bench.photos)
    values = in_turn(rounds, ours=lambda _: ours_speed(mode, recipe, seconds)["views_per_second"],
                     peer=lambda _: run_peer(work, directory, seconds))
    ratios = [ours / peer for ours, peer in zip(values["ours"], values["peer"])]
    ratio, (bar, stretch) = statistics.median(ratios), BARS[work]
    ours, peer = (statistics.median(values[side]) for side in ("ours", "peer"))
    return {"work": work, "unit": "views/s", "ours": ours, "peer": peer, "ratio": ratio, "bar": bar, "stretch": stretch,
            "passed": ratio >= bar, "ratios": ratios, "rounds": values}


def load_row(bench, rounds):
    opened = [opening_seconds(bench.recipes["load"]) for _ in range(rounds)]
    seconds = statistics.median(s for _, s in opened)
    return {"work": "load", "unit": "s", "ours": seconds, "bar": BARS["load"][0], "passed": seconds < BARS["load"][0],
            "samples": opened[0][0], "rounds": {"ours": [s for _, s in opened]}}


def memory_row(bench, seconds, rounds):
    many, few = bench.folder_recipe(MANY), bench.folder_recipe(FEW)
    # Long enough to read every file once: what stays of each would show.
    while ours_speed("speed", many, seconds)["samples"] < MANY:
        seconds *= 2
    values = in_turn(rounds, many=lambda _: ours_speed("speed", many, seconds)["peak_megabytes"],
                     few=lambda _: ours_speed("speed", few, seconds)["peak_megabytes"])
    a, b = (statistics.median(values[side]) for side in ("many", "few"))
    return {"work": "memory", "unit": "MB", "ours": a - b, "many": a, "few": b, "bar": BARS["memory"][0],
            "passed": a - b <= BARS["memory"][0], "rounds": values}


def print_table(rows):
    line = "{:<44}{:>16}{:>16}{:>9}{:>9}  {}".format
    print("\n" + line("work", "ours", "peer", "ratio", "bar", ""))
    for row in rows:
        # Large numbers need no digits after the point.
        show = [f"{row[side]:,.{0 if row[side] > 999 else 1 if row[side] > 9 else 3}f} {row['unit']}" if side in row else "–"
                for side in ("ours", "peer")]
        bar = f"≥ {row['bar']}×" if "ratio" in row else f"{row['bar']:g} {row['unit']}"
        stretched = row.get("stretch") and row["ratio"] >= row["stretch"]
        verdict = "FAIL" if not row["passed"] else "pass, stretch" if stretched else "pass"
        print(line(TITLES[row["work"]], *show, f"{row['ratio']:.1f}×" if "ratio" in row else "–", bar, verdict))
    for row in rows:
        if "ratios" in row:
            print(f"{row['work']}: ratios of the rounds " + ", ".join(f"{r:.1f}" for r in row["ratios"]) +
                  f"; other programs used {row['others']:.1f} cores")
        if row["work"] == "memory":
            print(f"memory: {row['many']:.0f} MB with {MANY} files, {row['few']:.0f} MB with {FEW}")
        if row["work"] == "load":
            print(f"load: {row['samples']} samples, with the digest of the whole file, from the page cache")


def parse():
    def works(text):
        chosen = set(text.split(","))
        if not chosen <= set(WORKS):
            raise argparse.ArgumentTypeError(f"expected some of {','.join(WORKS)}")
        return chosen

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=works, default=set(WORKS), metavar="WORK,…", help="some of: " + ", ".join(WORKS))
    parser.add_argument("--seconds", type=float, default=6, help="each measurement takes so long (default: 6)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is measured (default: 3)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the numbers there, too")
    parser.add_argument("--cifar", type=pathlib.Path, metavar="DIR", help="CIFAR-100, binary version, instead of made data")
    parser.add_argument("--photos", type=pathlib.Path, metavar="DIR", help="JPEG files instead of made ones")
    parser.add_argument("--peer", nargs=3, metavar=("WORK", "DIR", "SECONDS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def versions():
    import PIL
    import torch
    import torchvision
    return {"torch": torch.__version__, "torchvision": torchvision.__version__, "pillow": PIL.__version__}


def main():
    arguments = parse()
    if arguments.peer:
        work, directory, seconds = arguments.peer[0], pathlib.Path(arguments.peer[1]), float(arguments.peer[2])
        print(cifar_rate(directory, seconds) if work == "cifar" else photo_rate(work, directory, seconds))
        return 0
    become_peer_python()
    load = os.getloadavg()[0]  # before this program adds to it
    build(*TARGETS)
    peer, only = versions(), arguments.only
    print("peer: " + ", ".join(f"{name} {version}" for name, version in peer.items()), flush=True)
    with tempfile.TemporaryDirectory(prefix="gh-views-") as scratch:
        bench = Bench(pathlib.Path(scratch), only, arguments)
        compare_outputs(bench, only)
        watch = OthersWatch()
        time.sleep(1)
        busy = watch.cores()
        print(f"load average {load:.2f} at the start; other programs use {busy:.1f} of {os.cpu_count()} cores", flush=True)
        rows = []
        for work in (w for w in WORKS if w in only):
            print(f"measuring: {work}", flush=True)
            watch = OthersWatch()
            rows.append(load_row(bench, arguments.rounds) if work == "load" else
                        memory_row(bench, arguments.seconds, arguments.rounds) if work == "memory" else
                        rate_row(work, bench, arguments.seconds, arguments.rounds))
            rows[-1]["others"] = watch.cores()
    print_table(rows)
    if max(busy, *(row["others"] for row in rows)) > 0.2:
        print("WARNING: the machine was busy with other programs; these ratios are rough and may be unjust to either side")
    if arguments.json:
        numbers = {"load_average": load, "others": busy, "peer": peer, "rows": rows}
        arguments.json.write_text(json.dumps(numbers, indent=1) + "\n")
    return 0 if all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
