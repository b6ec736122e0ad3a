"""Debian package and tarball: they hold all that they need, and run where they are unpacked."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GH_BUILD_DIR"])


def call(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


@unittest.skipUnless(os.environ.get("GH_SLOW"), "GH_SLOW=1")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="ghhost-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        call("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.dir, "-D", f"CPACK_OUTPUT_FILE_PREFIX={cls.dir}")

    def check_tree(self, tree):
        """Runs the toy with nothing of this environment; of libraries, only those of C and C++ are the system's."""
        ghhost = tree / "bin/ghhost"
        bare = {"HOME": str(self.dir), "PATH": "/usr/bin:/bin"}
        found = re.findall(r"(\S+) => (\S+)", call("ldd", ghhost, env=bare))
        self.assertIn("libtorch_cpu.so", [name for name, _ in found])
        elsewhere = [name for name, path in found if not pathlib.Path(path).resolve().is_relative_to(tree)]
        self.assertEqual([name for name in elsewhere if not re.match(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so|/.*/ld-linux", name)], [])
        recipes = call(ghhost, "sdk", "--recipes-dir", env=bare).strip()
        call(ghhost, "run", f"{recipes}/toy.toml", "train.epochs=4", "harmonize.warm_up=2", "--out", tree / "toy", env=bare)
        self.assertTrue((tree / "toy/report.html").exists())
        self.assertTrue((tree / "lib/ghhost/torch/include/ATen/ATen.h").exists())
        self.assertTrue(list((tree / "share/ghhost/licences/libtorch").iterdir()))

    def test_the_tarball_has_its_libraries_with_it(self):
        archive, = self.dir.glob("*.tar.gz")
        call("tar", "xf", archive, "-C", self.dir)
        tree = (self.dir / archive.name.removesuffix(".tar.gz")).rename(self.dir / "moved")
        self.check_tree(tree)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_the_debian_package_holds_the_same(self):
        package, = self.dir.glob("*.deb")
        call("dpkg-deb", "-x", package, self.dir / "root")
        self.assertEqual([p.name for p in (self.dir / "root").iterdir()], ["usr"])
        self.assertRegex(call("dpkg-deb", "-f", package, "Depends"), r"^libc6 \(>= [\d.]+\), libstdc\+\+6 \(>= \d+\)$")
        # No program of others finds them by accident.
        self.assertEqual({p.name for p in (self.dir / "root/usr/lib").iterdir()}, {"cmake", "ghhost", "libghops.so.1", "libghsdk.so.1"})
        self.check_tree(self.dir / "root/usr")


if __name__ == "__main__":
    unittest.main(verbosity=2)
