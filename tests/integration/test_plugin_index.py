#!/usr/bin/env python3
"""Plugins from an index: found, chosen, fetched from a server on this machine, and checked before anything of them runs."""
import functools
import hashlib
import http.server
import json
import shutil
import subprocess
import threading
import unittest

from ghhost_case import GHHOST, GhhostCase

ZOO = GHHOST.resolve().parents[1] / "tests/zoo/plugins"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved"))
            self.end_headers()
        elif self.path.startswith("/away/"):
            self.send_response(302)
            self.send_header("Location", f"file://{self.directory}{self.path.removeprefix('/away')}")
            self.end_headers()
        else:
            super().do_GET()


class Index(GhhostCase):
    def setUp(self):
        super().setUp()
        self.shop = self.dir / "shop"
        (self.shop / "builds").mkdir(parents=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(self.shop)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.home = {"XDG_DATA_HOME": str(self.dir / "data")}
        self.fingerprint = next(file["built_with"] for file in json.loads(self.ghhost("plugins", "list", "--json").stdout)
                                if file.get("name") == "sinkhorn")

    def offer(self, animal, version="1.0.0", url=None, **changes):
        """A version of an index, and its file in the shop."""
        file = self.shop / f"builds/{animal}.so"
        shutil.copy(ZOO / f"{animal}.so", file)
        return {"version": version, "url": url or f"builds/{animal}.so", "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                "fingerprint": self.fingerprint, **changes}

    def publish(self, name, *versions):
        index = {"ghhost_index": 1, "plugins": [{"name": name, "doc": "an animal of the zoo", "license": "MIT", "versions": list(versions)}]}
        (self.shop / "index.json").write_text(json.dumps(index))
        return f"{self.url}/index.json"

    def install(self, index, name="zoo_sound", *words, **options):
        done = self.ghhost("plugins", "install", name, "--index", index, *words, env=self.home, **options)
        return done.stdout + done.stderr

    def installed(self):
        return sorted(path.name for path in (self.dir / "data").rglob("*.so*"))

    def test_a_plugin_is_installed_from_a_server_and_found(self):
        index = self.publish("zoo_sound", self.offer("zoo_sound"))
        self.install(index)
        listed = json.loads(self.ghhost("plugins", "list", "--json", env=self.home).stdout)
        mine = next(file for file in listed if file.get("name") == "zoo_sound")
        self.assertTrue(mine["usable"])
        self.assertEqual(mine["file"], str(self.dir / "data/ghhost/plugins/zoo_sound.so"))
        self.ghhost("plugins", "info", "zoo_sound", env=self.home)

    def test_or_from_a_path_or_through_a_redirection(self):
        self.publish("zoo_sound", self.offer("zoo_sound"))
        self.install(self.shop / "index.json", "zoo_sound", "--to", self.dir / "data/a")
        self.install("shop/index.json", "zoo_sound@1.0.0", "--to", self.dir / "data/b")
        self.install(f"{self.url}/moved/index.json", "zoo_sound", "--to", self.dir / "data/c")
        index = self.publish("zoo_sound", self.offer("zoo_sound", url="/moved/builds/zoo_sound.so"))
        self.install(index, "zoo_sound", "--to", self.dir / "data/d")
        self.assertEqual(self.installed(), ["zoo_sound.so"] * 4)

    def test_nothing_of_it_runs_and_other_bytes_are_refused(self):
        deadly = self.offer("zoo_initializer_aborts")
        index = self.publish("zoo_initializer_aborts", deadly)
        self.install(index, "zoo_initializer_aborts")  # its constructor would end the program
        shutil.rmtree(self.dir / "data")
        (self.shop / "builds/zoo_initializer_aborts.so").write_bytes(b"something else")
        self.assertIn(f"expected SHA-256 {deadly['sha256']} as the index says", self.install(index, "zoo_initializer_aborts", expect=78))
        self.assertEqual(self.installed(), [])

    def test_it_is_the_plugin_and_the_build_that_the_index_says(self):
        cases = (("zoo_sound", self.offer("zoo_other_torch", fingerprint=self.fingerprint), "found zoo_other_torch"),
                 ("zoo_sound", self.offer("zoo_sound", version="2.0.0"), "expected zoo_sound 2.0.0, found zoo_sound 1.0.0"),
                 ("zoo_other_torch", self.offer("zoo_other_torch"), "1.13.1"),
                 ("zoo_sound", self.offer("zoo_sound", fingerprint={**self.fingerprint, "torch": "0.4"}), "no build of zoo_sound that is offered fits"))
        for name, version, says in cases:
            with self.subTest(says):
                self.assertIn(says, self.install(self.publish(name, version), name, expect=78))
        self.assertEqual(self.installed(), [])

    def test_the_newest_that_fits_is_chosen_unless_a_version_is_named(self):
        other = {**self.fingerprint, "torch": "0.4"}
        versions = [self.offer("zoo_sound", version="0.9.0"), self.offer("zoo_sound", version="0.10.0", url="absent.so"),
                    self.offer("zoo_sound", version="0.11.0", fingerprint=other), self.offer("zoo_sound", version="0.10.0-rc1")]
        index = self.publish("zoo_sound", *versions)
        self.assertIn("zoo_sound 0.10.0 (MIT)", self.install(index, expect=66))
        self.assertIn("zoo_sound 0.9.0 (MIT)", self.install(index, "zoo_sound@0.9.0", expect=78))  # the file is 1.0.0
        self.assertIn("versions: 0.11.0, 0.10.0, 0.10.0-rc1, 0.9.0", self.install(index, "zoo_sound@3", expect=78))
        found = json.loads(self.ghhost("plugins", "search", "zoo", "animal", "--index", index, "--json").stdout)
        self.assertEqual(found, [{"name": "zoo_sound", "version": "0.10.0", "license": "MIT", "doc": "an animal of the zoo", "fits": True}])
        self.assertEqual(self.ghhost("plugins", "search", "elephant", env={"GHHOST_PLUGIN_INDEX": index}).stdout, "")

    def test_a_signature_is_asked_for(self):
        index = self.publish("zoo_sound", self.offer("zoo_sound"))
        for name in ("alice", "bob"):
            for words in (["genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem"], ["pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub"]):
                self.assertEqual(subprocess.run(["openssl", *words], cwd=self.dir, capture_output=True).returncode, 0)
        self.install(index, "zoo_sound", "--keys", "alice.pub", expect=66)
        self.ghhost("plugins", "sign", self.shop / "builds/zoo_sound.so", "--key", "alice.pem")
        self.assertIn("not_signed", self.install(index, "zoo_sound", "--keys", "bob.pub", expect=78))
        self.assertEqual(self.installed(), [])
        self.install(index, "zoo_sound", "--keys", "alice.pub")
        self.assertEqual(self.installed(), ["zoo_sound.so", "zoo_sound.so.sig"])
        self.ghhost("plugins", "verify", "--keys", "alice.pub", env=self.home)

    def test_what_cannot_be_fetched_is_said(self):
        index = self.publish("zoo_sound", self.offer("zoo_sound", url="file:///etc/hostname"))
        self.assertIn("expected http, https or a path", self.install(index, expect=78))
        index = self.publish("zoo_sound", self.offer("zoo_sound", url="/away/builds/zoo_sound.so"))
        self.install(index, expect=74)  # a server does not lead to files of this machine
        self.assertIn("404", self.install(f"{self.url}/absent.json", expect=66))
        self.install("http://127.0.0.1:1/index.json", expect=74)
        self.assertIn("expected http, https or a path", self.install("ftp://127.0.0.1/index.json", expect=78))
        self.assertIn("which index?", self.ghhost("plugins", "search", expect=78).stderr)
        self.assertIn("has no plugin lion", self.install(self.publish("zoo_sound"), "lion", expect=78))
        (self.shop / "index.json").write_text('{"ghhost_index": 1, "plugins": [{"name": "../../x"}]}')
        self.assertIn("is no name of a plugin", self.install(f"{self.url}/index.json", expect=78))


if __name__ == "__main__":
    unittest.main()
