"""The wheel as pip installs it, in an environment whose torch is a link to the one it was built with."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GH_BUILD_DIR"])
TORCH = pathlib.Path(os.environ["GH_TORCH_DIR"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHORT = ["train.epochs=4", "harmonize.warm_up=2"]


def call(*command, expect=0, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, **options)
    if done.returncode != expect:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


class Environment:
    """A fresh virtual environment."""

    def __init__(self, place):
        call(sys.executable, "-m", "venv", place)
        self.place, self.python, self.ghhost = place, place / "bin/python", place / "bin/ghhost"
        self.packages = next(place.glob("lib/python3*/site-packages"))
        (self.packages / "torch").symlink_to(TORCH)

    def pip(self, *arguments, **options):
        return call(self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments, **options)

    def install(self, *wheels):
        self.pip("install", "--no-deps", "--no-index", *wheels)

    def files(self):
        return {p.relative_to(self.place) for p in self.place.rglob("*") if p.is_file() and p.suffix != ".pyc"}


class WithWheel(unittest.TestCase):
    @classmethod
    def set_up(cls):
        if not importlib.util.find_spec("wheel"):
            sys.exit(77)
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        call(SOURCE / "packaging/wheel/pack.sh", BUILD, cls.dir, sys.executable)
        cls.wheel, = cls.dir.glob("*.whl")
        cls.env = Environment(cls.dir / "env")
        cls.bare = cls.env.files()
        cls.env.install(cls.wheel)


class Wheel(WithWheel):
    @classmethod
    def setUpClass(cls):
        cls.set_up()

    def with_torch(self, files):
        """What ghhost says where the torch package is another one: files of it by name."""
        link, torch = self.env.packages / "torch", self.dir / "other-torch"
        link.unlink()
        for name, text in files.items():
            (torch / name).parent.mkdir(parents=True, exist_ok=True)
            (torch / name).write_text(text)
        if files:
            link.symlink_to(torch)
        try:
            return call(self.env.ghhost, "version", expect=66).stderr
        finally:
            link.unlink(missing_ok=True)
            link.symlink_to(TORCH)
            shutil.rmtree(torch, ignore_errors=True)

    def test_it_runs_as_a_program_of_its_own(self):
        self.assertTrue(self.wheel.name.endswith("-py3-none-linux_x86_64.whl"), self.wheel.name)
        self.assertEqual(self.env.ghhost.read_bytes()[:4], b"\x7fELF")
        recipes = call(self.env.ghhost, "sdk", "--recipes-dir").stdout.strip()
        self.assertTrue(recipes.startswith(str(self.env.packages)), recipes)
        # From where another ghhost and no Python is.
        call("ghhost", "run", recipes + "/toy.toml", *SHORT, "--out", self.dir / "toy", cwd=self.dir,
             env={"PATH": str(self.env.ghhost.parent), "HOME": str(self.dir)})
        for plugin in json.loads((self.dir / "toy/environment.json").read_text())["plugins"]:
            self.assertTrue(plugin["file"].startswith(str(self.env.packages)), plugin["file"])

    def test_links_to_it_and_python_start_it_too(self):
        (self.dir / "link").symlink_to(self.env.ghhost)
        for command in ([self.dir / "link"], [self.env.python, "-m", "ghhost"]):
            self.assertEqual(call(*command, "sdk").stdout, call(self.env.ghhost, "sdk").stdout)

    def test_cmake_is_told_where_the_package_is(self):
        told = call(self.env.ghhost, "sdk", "--cmake-dir").stdout
        self.assertEqual(call(self.env.python, "-m", "ghhost", "--cmake-dir").stdout, told)
        self.assertTrue((pathlib.Path(told.strip()) / "ghsdkConfig.cmake").exists())

    def test_a_torch_that_does_not_fit_is_named_in_a_sentence(self):
        version = (TORCH / "version.py").read_text()
        self.assertIn("there is no torch in", self.with_torch({}))
        other = {"version.py": "__version__ = '2.12.1+cpu'\n", "lib/libtorch.so": ""}
        self.assertRegex(self.with_torch(other), r"built with torch \S+ \(cpu\), and the torch in \S+ is 2\.12\.1 \(cpu\)")
        cuda = {"version.py": version.replace("cuda: Optional[str] = None", "cuda: Optional[str] = '13.0'"), "lib/libtorch.so": "",
                "lib/libtorch_cuda.so": ""}
        self.assertRegex(self.with_torch(cuda), r"is [\d.]+ \(cuda13\)\.\n.*pip install torch==[\d.]+\+cpu --index-url")

    def test_what_other_packages_bring_comes_before_what_is_bundled(self):
        place = self.env.packages / "ghhost_plugins"
        place.mkdir()
        self.addCleanup(shutil.rmtree, place)
        shutil.copy(self.env.packages / "ghhost/lib/ghhost/plugins/toy2d.so", place)
        listed = json.loads(call(self.env.ghhost, "plugins", "list", "--json").stdout)
        first, second = [p for p in listed if p.get("name") == "toy2d"]
        self.assertEqual((first["origin"], first["file"], first["usable"]), ("packages", str(place / "toy2d.so"), True))
        self.assertEqual(second["shadowed_by"], first["file"])

    def test_nothing_is_left_after_removal(self):
        self.env.pip("uninstall", "-y", "ghhost")
        try:
            self.assertEqual(self.env.files(), self.bare)
        finally:
            self.env.install(self.wheel)


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1")
class PluginOfPip(WithWheel):
    @classmethod
    def setUpClass(cls):
        cls.set_up()

    def test_a_plugin_becomes_a_package_that_others_install(self):
        call(self.env.ghhost, "new-plugin", "ssl", "my_method", "--wheel", cwd=self.dir)
        folder = self.dir / "my_method"
        with_backend = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
        self.env.pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", self.dir / "made", folder, env=with_backend)
        made, = (self.dir / "made").iterdir()
        self.assertEqual(made.name, "ghhost_my_method-0.1.0-py3-none-linux_x86_64.whl")
        other = Environment(self.dir / "other")
        other.install(self.wheel, made)
        recipe = folder / "recipe.toml"
        shutil.rmtree(folder / "build", ignore_errors=True)
        call(other.ghhost, "run", recipe, "--out", self.dir / "mine")
        used, = [p for p in json.loads((self.dir / "mine/environment.json").read_text())["plugins"] if p["name"] == "my_method"]
        self.assertEqual(used["file"], str(other.packages / "ghhost_plugins/my_method.so"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
