"""A stranger's way: install, move the tree, scaffold a plugin of every kind, build it against the installed SDK, check it, run it, and swap it
into the toy recipe of a host that is not rebuilt."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GH_BUILD_DIR"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHORT = ["train.epochs=4", "harmonize.warm_up=2"]
# What the toy recipe needs changed for a new plugin of each kind.
SWAPS = {
    "ssl": ["method={id=NAME, projector=\"none\"}"],
    "structure": ["harmonize.structure={id=NAME}"],
    "allocator": ["harmonize.allocator={id=NAME}"],
    "dataset": ["data={id=NAME}"],
    "backbone": ["backbone={id=NAME, features=2}"],
    "evaluator": ["+eval={id=NAME}"],
}


def call(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


class Product(unittest.TestCase):
    def test_what_is_installed_is_built_without_the_tests(self):
        """Tests build everything, so only this sees a library that `make install` would miss."""
        scripts = "".join(script.read_text() for script in BUILD.rglob("cmake_install.cmake"))
        installed = {os.path.relpath(file, BUILD) for file in re.findall(f'"({re.escape(str(BUILD))}/[^"]+)"', scripts)}
        targets = {line.split(": ")[0] for line in call("ninja", "-C", BUILD, "-t", "targets", "all").splitlines()
                   if "_LINKER__" in line}
        self.assertIn("lib/libghsdk.so.1", installed & targets)
        built = set(re.findall(r" -o (\S+)", call("ninja", "-C", BUILD, "-t", "commands", "product")))
        self.assertEqual((installed & targets) - built, set())


class InstalledSdk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-install-"))
        call("cmake", "--install", BUILD, "--prefix", cls.dir / "before")
        cls.prefix = (cls.dir / "before").rename(cls.dir / "prefix")
        cls.ghhost = cls.prefix / "bin/ghhost"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir, ignore_errors=True)

    def test_installed_host_runs_the_toy(self):
        call(self.ghhost, "run", SOURCE / "recipes/toy.toml", *SHORT, "--out", self.dir / "toy", cwd=self.dir)
        plugins = json.loads((self.dir / "toy/environment.json").read_text())["plugins"]
        for plugin in plugins:
            self.assertTrue(plugin["file"].startswith(str(self.prefix)), plugin["file"])

    def test_links_of_installed_pages_lead_to_something(self):
        pages = self.prefix / "share/ghhost"
        links = [(page, target.partition("#")[0]) for page in pages.rglob("*.md")
                 for target in re.findall(r"\]\(([^)\s#]+)\)", re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S))
                 if "://" not in target]
        self.assertGreater(len(links), 50)
        self.assertEqual([f"{page.relative_to(pages)}: {path}" for page, path in links if not (page.parent / path).exists()], [])
        # Text of links that were taken out is left.
        self.assertIn("CONTRIBUTING.md", (pages / "README.md").read_text())

    def test_recipes_licence_and_man_page_are_there(self):
        recipes = pathlib.Path(call(self.ghhost, "sdk", "--recipes-dir").strip())
        there = {file.relative_to(recipes) for file in recipes.rglob("*.toml")}
        self.assertEqual(there, {file.relative_to(SOURCE / "recipes") for file in (SOURCE / "recipes").rglob("*.toml")})
        self.assertIn("MIT", (self.prefix / "share/doc/ghhost/copyright").read_text())
        page = (self.prefix / "share/man/man1/ghhost.1").read_text()
        for group in ("", "data", "plugins", "study"):
            for line in call(self.ghhost, "complete", "--", *group.split(), "").splitlines():
                command = f"{group} {line.split(chr(9))[0]}".strip()
                self.assertTrue(command in ("data", "plugins", "study") or f".It Cm {command}\n" in page, command)

    def test_nothing_in_it_is_where_it_was_built(self):
        for file in [self.ghhost, *self.prefix.glob("lib*/*.so*"), *self.prefix.glob("lib*/ghhost/plugins/*.so")]:
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", call("readelf", "-d", file))
            for path in ":".join(paths).split(":"):
                self.assertTrue(path == "" or path.startswith("$ORIGIN"), f"{file}: {path}")
        for file in self.prefix.rglob("*.cmake"):
            for place in (SOURCE, BUILD):
                self.assertNotIn(str(place) + "/", file.read_text(), file)

    def test_a_new_plugin_of_every_kind_builds_checks_runs_and_swaps_in(self):
        before = hashlib.sha256(self.ghhost.read_bytes()).hexdigest()
        for kind in SWAPS:
            with self.subTest(kind=kind):
                self.try_kind(kind, f"my_{kind}")
        self.assertEqual(hashlib.sha256(self.ghhost.read_bytes()).hexdigest(), before)

    def try_kind(self, kind, name):
        call(self.ghhost, "new-plugin", kind, name, cwd=self.dir)
        folder = self.dir / name
        call("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
             "-DCMAKE_BUILD_TYPE=Release")
        call("cmake", "--build", folder / "build")
        call("ctest", "--test-dir", folder / "build", "--output-on-failure", "--no-tests=error")
        plugin = folder / "build" / f"{name}.so"
        call(self.ghhost, "plugins", "check", plugin)
        call(self.ghhost, "--plugin", plugin, "run", folder / "recipe.toml", "--out", self.dir / f"{name}-own")
        swap = [change.replace("NAME", f'"{name}"') for change in SWAPS[kind]]
        out = self.dir / f"{name}-swapped"
        call(self.ghhost, "--plugin", plugin, "run", SOURCE / "recipes/toy.toml", *SHORT, *swap, "--out", out)
        used = [p["name"] for p in json.loads((out / "environment.json").read_text())["plugins"]]
        self.assertIn(name, used)

    def test_the_examples_build_pass_and_run_against_it(self):
        examples, build = SOURCE / "examples", self.dir / "examples"
        call("cmake", "-S", examples, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        call("cmake", "--build", build)
        folders = sorted(path.parent for path in examples.glob("*/CMakeLists.txt"))
        self.assertEqual(len(folders), 5)
        done = call("ctest", "--test-dir", build, "--output-on-failure")
        self.assertIn(f"100% tests passed, 0 tests failed out of {3 * len(folders)}", done)
        for folder in folders:
            with self.subTest(example=folder.name):
                self.assertLess(len((folder / f"{folder.name}.cpp").read_text().splitlines()), 100)
                plugin, = (build / folder.name).glob("*.so")
                call(self.ghhost, "--plugin", plugin, "run", folder / "recipe.toml", "--out", self.dir / f"{folder.name}-run")

    def test_a_program_finds_the_operators(self):
        folder = self.dir / "operators"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(operators CXX)\nfind_package(ghsdk 1.0 REQUIRED)\n"
            "add_executable(operators main.cpp)\ntarget_link_libraries(operators PRIVATE ghsdk::ghops)\n")
        (folder / "main.cpp").write_text("""
            #include <gh/ops/convolution.hpp>
            #include <gh/ops/layers.hpp>
            #include <ATen/ops/ones.h>
            int main() {
              const at::Tensor y = gh::ops::convolution(at::ones({1, 16, 8, 8}), at::ones({16, 16, 3, 3}), {},
                                                        {.padding = 1}, gh::ops::ConvolutionMode::fast);
              const double inside = y[0][0][4][4].item<double>(), corner = y[0][0][0][0].item<double>();
              return inside > 143.99 && inside < 144.01 && corner > 63.99 && corner < 64.01 ? 0 : 1;
            }""")
        call("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
             "-DCMAKE_BUILD_TYPE=Release")
        call("cmake", "--build", folder / "build")
        call(folder / "build/operators")

    def test_another_libtorch_is_refused_at_configure_time(self):
        config = self.prefix / "lib/cmake/ghsdk/ghsdkConfig.cmake"
        if not config.exists():
            config = next(self.prefix.rglob("ghsdkConfig.cmake"))
        folder = self.dir / "refused"
        call(self.ghhost, "new-plugin", "structure", "refused", cwd=self.dir)
        other = self.dir / "other-torch"
        (other / "include/ATen").mkdir(parents=True)
        (other / "include/ATen/ATen.h").write_text("")
        (other / "include/torch/headeronly").mkdir(parents=True)
        (other / "include/torch/headeronly/version.h").write_text(
            "#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 2\n#define TORCH_VERSION_PATCH 3\n")
        done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                               f"-DGH_TORCH_DIR={other}"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ghsdk was built with LibTorch", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
