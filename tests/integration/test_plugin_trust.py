#!/usr/bin/env python3
"""Whose plugins are loaded: locks, signatures, and what is passed over on request."""
import json
import shutil
import subprocess
import unittest

from ghhost_case import GHHOST, SHORT, TOY, GhhostCase

BUNDLED = GHHOST.resolve().parents[1] / "lib/ghhost/plugins"
ZOO = GHHOST.resolve().parents[1] / "tests/zoo/plugins"


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Locks(GhhostCase):
    def changed_sinkhorn(self, name="mine.so"):
        """Another build of it: one byte more at its end."""
        file = self.dir / name
        file.write_bytes((BUNDLED / "sinkhorn.so").read_bytes() + b"\0")
        return file

    def test_a_lock_lists_builds_and_the_same_ones_run(self):
        self.ghhost("plugins", "lock")
        lock = json.loads((self.dir / "ghhost.lock").read_text())
        self.assertEqual(lock["ghhost_lock"], 1)
        by_name = {entry["name"]: entry for entry in lock["plugins"]}
        listed = {file["name"]: file for file in json.loads(self.ghhost("plugins", "list", "--json").stdout) if file["usable"]}
        self.assertEqual(by_name.keys(), listed.keys())
        sinkhorn = by_name["sinkhorn"]
        self.assertEqual(sinkhorn["sha256"], subprocess.run(["sha256sum", BUNDLED / "sinkhorn.so"], capture_output=True, text=True).stdout[:64])
        self.assertEqual(sinkhorn["fingerprint"], listed["sinkhorn"]["built_with"])
        self.assertEqual(len(sinkhorn["build_id"]), 40)
        self.ghhost("run", TOY, *SHORT, "--locked", "--out", "run", "--until", "6")
        self.ghhost("--locked", "resume", "run")
        self.ghhost("eval", "run", "--locked=ghhost.lock")

    def test_everything_else_is_refused_by_every_command_that_loads_it(self):
        run = self.run_toy("run")
        self.ghhost("plugins", "lock")
        mine = self.changed_sinkhorn()
        for command in (["run", TOY, *SHORT, "--out", "never"], ["resume", run], ["eval", run], ["check", TOY],
                        ["plugins", "info", "sinkhorn"], ["plugins", "check", mine], ["plugins", "docs"]):
            with self.subTest(command=command):
                said = self.ghhost("--plugin", mine, "--locked", *command, expect=78).stderr
                self.assertIn("not_locked", said)
                self.assertIn("as ghhost.lock locks it", said)
        self.assertFalse((self.dir / "never").exists())
        self.ghhost("--plugin", mine, "plugins", "lock", "--out", "mine.lock")
        self.ghhost("--plugin", mine, "check", TOY, "--locked=mine.lock")
        self.ghhost("check", TOY, "--locked=mine.lock", expect=78)

    def test_a_lock_that_is_none_is_an_error_before_anything_is_loaded(self):
        self.assertIn("there is no lock of plugins ghhost.lock", self.ghhost("check", TOY, "--locked", expect=66).stderr)
        self.write("ghhost.lock", "{}")
        self.assertIn("is no lock of plugins", self.ghhost("check", TOY, "--locked", expect=78).stderr)

    def test_the_runs_of_a_study_keep_to_its_lock(self):
        study = self.write("study.toml", f'name = "s"\nseeds = [0]\n[base]\nrecipe = "{TOY}"\noverrides = {json.dumps(SHORT)}\n')
        self.ghhost("plugins", "lock")
        self.ghhost("--locked", "study", "plan", study, "--out", "study", "--no-calibration")
        self.write("ghhost.lock", json.dumps({"ghhost_lock": 1, "plugins": []}))
        self.ghhost("study", "work", "study", expect=1)
        logs = "".join(log.read_text() for log in (self.dir / "study").rglob("*.log"))
        self.assertIn("not_locked", logs)
        self.ghhost("plugins", "lock")
        # A rule of the command is in place of the one it was planned with.
        self.write("none.lock", json.dumps({"ghhost_lock": 1, "plugins": []}))
        self.ghhost("--locked=none.lock", "study", "run", "study", "--retry-failed", "--yes", expect=1)
        self.ghhost("--locked", "study", "run", "study", "--retry-failed", "--yes")

    def test_the_first_match_that_fails_is_passed_over_on_request(self):
        (self.dir / "first").mkdir()
        shutil.move(self.changed_sinkhorn(), self.dir / "first/sinkhorn.so")
        self.ghhost("plugins", "lock")
        env = {"GHHOST_PLUGIN_PATH": str(self.dir / "first")}
        said = self.ghhost("check", TOY, "--locked", env=env, expect=78).stderr
        self.assertIn("allocator/sinkhorn cannot be used (not_locked)", said)
        said = self.ghhost("check", TOY, "--locked", "--pass-over", env=env).stderr
        self.assertIn("warning: passed over: the plugin that provides allocator/sinkhorn cannot be used (not_locked)", said)
        self.ghhost("--pass-over", "run", TOY, *SHORT, "--locked", "--out", "run", env=env)
        used = json.loads((self.dir / "run/environment.json").read_text())["plugins"]
        self.assertIn(str(BUNDLED / "sinkhorn.so"), [plugin["file"] for plugin in used])


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Signatures(GhhostCase):
    def setUp(self):
        super().setUp()
        self.plugin = self.dir / "plugin.so"
        shutil.copy(ZOO / "zoo_sound.so", self.plugin)
        self.private = self.key("alice")
        self.trust("alice")

    def key(self, name):
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.dir / f"{name}.pem")
        openssl("pkey", "-in", self.dir / f"{name}.pem", "-pubout", "-out", self.dir / f"{name}.pub")
        return self.dir / f"{name}.pem"

    def trust(self, *names):
        self.write("trusted.pem", "".join(f"{name} of the lab\n{(self.dir / f'{name}.pub').read_text()}" for name in names))

    def verify(self, **options):
        done = self.ghhost("plugins", "verify", self.plugin, "--keys", "trusted.pem", **options)
        return done.stdout + done.stderr

    def test_a_signature_of_a_trusted_key_holds_for_these_bytes_only(self):
        self.ghhost("plugins", "sign", self.plugin, "--key", self.private)
        self.assertIn("signed by alice of the lab, key ", self.verify())
        self.plugin.write_bytes(self.plugin.read_bytes() + b"\0")
        self.assertIn("by another key or for other bytes", self.verify(expect=78))

    def test_openssl_makes_and_checks_the_same_signatures(self):
        openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.private, "-in", self.plugin, "-out", f"{self.plugin}.sig")
        self.assertIn("signed by alice of the lab", self.verify())
        by_openssl = (self.dir / "plugin.so.sig").read_bytes()
        self.ghhost("plugins", "sign", self.plugin, "--key", self.private)
        self.assertEqual((self.dir / "plugin.so.sig").read_bytes(), by_openssl)

    def test_nobodys_another_ones_and_half_a_signature_are_refused(self):
        self.assertIn("not_signed: ", self.verify(expect=78))
        self.key("bob")
        self.ghhost("plugins", "sign", self.plugin, "--key", "bob.pem")
        self.assertIn("by another key or for other bytes", self.verify(expect=78))
        self.trust("alice", "bob")
        self.assertIn("signed by bob of the lab", self.verify())
        signature = (self.dir / "plugin.so.sig").read_bytes()
        (self.dir / "plugin.so.sig").write_bytes(signature[:63])
        self.assertIn("not of 64 bytes", self.verify(expect=78))

    def test_keys_that_others_could_change_or_that_are_none_are_refused(self):
        self.ghhost("plugins", "sign", self.plugin, "--key", self.private)
        (self.dir / "trusted.pem").chmod(0o666)
        self.assertIn("writable by everybody", self.verify(expect=78))
        (self.dir / "trusted.pem").chmod(0o600)
        self.write("trusted.pem", "alice\n")
        self.assertIn("holds no public key", self.verify(expect=78))
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.dir / "rsa.pem")
        self.write("trusted.pem", subprocess.run(["openssl", "pkey", "-in", self.dir / "rsa.pem", "-pubout"], capture_output=True, text=True).stdout)
        self.assertIn("is no Ed25519 key", self.verify(expect=78))
        self.assertIn("no private Ed25519 key", self.ghhost("plugins", "sign", self.plugin, "--key", "rsa.pem", expect=78).stderr)

    def test_what_is_not_signed_is_not_locked_where_that_is_asked_for(self):
        lock = ["--plugin", self.plugin, "plugins", "lock", "--keys", "trusted.pem"]
        self.assertIn("not_signed", self.ghhost(*lock, expect=78).stderr)
        self.assertFalse((self.dir / "ghhost.lock").exists())
        self.ghhost("plugins", "sign", self.plugin, "--key", self.private)
        self.ghhost(*lock)
        self.assertIn("zoo_sound", (self.dir / "ghhost.lock").read_text())

    def test_keys_are_looked_for_in_the_users_directory(self):
        self.ghhost("plugins", "sign", self.plugin, "--key", self.private)
        (self.dir / "config/ghhost").mkdir(parents=True)
        shutil.copy(self.dir / "trusted.pem", self.dir / "config/ghhost/trusted-keys.pem")
        self.ghhost("plugins", "verify", self.plugin, env={"XDG_CONFIG_HOME": str(self.dir / "config")})


if __name__ == "__main__":
    unittest.main()
