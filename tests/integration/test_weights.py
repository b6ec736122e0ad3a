#!/usr/bin/env python3
"""Weight files of PyTorch come in, exports go out and are the same network there. Needs torch and safetensors; exit code 77 where
they cannot be imported. WEIGHTS_DRIVER is the program built from weights_driver.cpp."""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import unittest

try:
    import torch
    import safetensors
    import safetensors.torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from ghhost_case import SOURCE, GhhostCase

DRIVER = os.environ.get("WEIGHTS_DRIVER", SOURCE / "build/bin/weights_driver")


class Block(torch.nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        conv = lambda i, o, kernel, stride: torch.nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False)
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), torch.nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3, 1), torch.nn.BatchNorm2d(outputs)
        self.downsample = torch.nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.downsample = torch.nn.Sequential(conv(inputs, outputs, 1, stride), torch.nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet18(torch.nn.Module):
    """A ResNet-18 without its last layer, named as torchvision's."""

    def __init__(self, width=64, small=False):
        super().__init__()
        self.small = small
        self.conv1 = torch.nn.Conv2d(3, width, 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(width)
        inputs = width
        for stage in range(4):
            outputs = width << stage
            blocks = [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            setattr(self, f"layer{stage + 1}", torch.nn.Sequential(*blocks))
            inputs = outputs

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        if not self.small:
            x = torch.nn.functional.max_pool2d(x, 3, 2, 1)
        return self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3))


def trained_resnet(**options):
    """With statistics and scales that are not those of a new one."""
    torch.manual_seed(5)
    model = ResNet18(**options)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.2)
    model.train()
    with torch.no_grad():
        model(torch.randn(8, 3, 32, 32))
    return model.eval()


class Trap:
    """What a hostile file does: a shell command when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch {self.file}",)


class WeightsCase(GhhostCase):
    def driver(self, *words, expect=0):
        done = subprocess.run([DRIVER, *map(str, words)], cwd=self.dir, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def save(self, content, name="w.pth", **options):
        torch.save(content, self.dir / name, **options)
        return self.dir / name

    def message(self, file):
        return self.driver("read", file).stdout


class Reading(WeightsCase):
    def check_read(self, content, expected, **options):
        """`content`, saved by torch, is read as the dictionary `expected`: names in order, dtypes, shapes, values."""
        self.driver("convert", self.save(content, **options), "out.safetensors")
        back = safetensors.torch.load_file(self.dir / "out.safetensors")
        self.assertEqual(set(back), set(expected))
        for name, tensor in expected.items():
            self.assertEqual(back[name].dtype, tensor.dtype, name)
            self.assertEqual(back[name].shape, tensor.shape, name)
            self.assertTrue(torch.equal(back[name], tensor.detach()), name)

    def test_state_dictionaries_in_every_protocol(self):
        model = trained_resnet(width=8, small=True)
        for protocol in (2, 3, 4, 5):
            self.check_read(model.state_dict(), model.state_dict(), pickle_protocol=protocol)
        self.check_read(dict(model.named_parameters()), dict(model.named_parameters()))

    def test_dictionaries_inside_checkpoints_beside_anything(self):
        model = trained_resnet(width=8, small=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model(torch.randn(2, 3, 8, 8)).sum().backward()
        optimizer.step()
        state = model.state_dict()
        beside = {"epoch": 3, "best_acc1": torch.tensor(71.5), "optimizer": optimizer.state_dict(),
                  "args": argparse.Namespace(lr=0.1, arch="resnet18"), "schedule": {1, 2}, "loss": [1.5, None, True, 10**30],
                  "history": collections.defaultdict(list, {"a": [torch.ones(2)]}), "device": torch.device("cpu"),
                  "type": torch.float16, "size": torch.Size([1, 2]), "raw": b"\0" * 300}
        for wrapper in ("state_dict", "model", "model_state_dict", "teacher", "student", "net", "network"):
            self.check_read({**beside, wrapper: state}, state)
        self.check_read({**beside, "model": {"args": 1, "state_dict": state}}, state)

    def test_every_kind_of_tensor(self):
        base = torch.arange(24.0)
        attributed = torch.ones(3)
        attributed.note = "attributes change how it is saved"
        parameter = torch.nn.Parameter(torch.randn(2, 2))
        parameter.note = "here too"
        tensors = {"half": base.half(), "bf16": base.bfloat16(), "double": base.double(), "long": base.long(), "int": base.int(),
                   "short": base.short(), "char": base.char(), "byte": base.byte(), "bool": base > 3, "scalar": torch.tensor(3.5),
                   "empty": torch.empty(0, 4), "turned": base.view(4, 6).t(), "part": base.view(4, 6)[1:3, ::2], "shared": base,
                   "channels_last": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
                   "attributed": attributed, "parameter": parameter, "nämé.weight": torch.ones(1)}
        self.check_read(tensors, tensors)
        self.check_read({**tensors, "sparse": torch.eye(3).to_sparse(), "note": "no dense tensor", 7: torch.ones(1)}, tensors)

    def test_nothing_is_executed(self):
        mark = self.dir / "executed"
        model = torch.nn.Linear(2, 2)
        for content in ({"state_dict": model.state_dict(), "x": Trap(mark)}, {**model.state_dict(), "x": Trap(mark)}):
            self.check_read(content, model.state_dict())
        self.assertIn("unsupported", self.message(self.save(Trap(mark))))
        self.assertFalse(mark.exists())
        torch.load(self.save({"x": Trap(mark)}), weights_only=False)
        self.assertTrue(mark.exists(), "the trap itself works")

    def test_files_that_are_no_weights_say_what_to_do(self):
        model = torch.nn.Linear(2, 2)
        self.assertRegex(self.message(self.save(model.state_dict(), _use_new_zipfile_serialization=False)),
                         "^unsupported .*before PyTorch 1.6.*save it once more")
        self.assertRegex(self.message(self.save(model)), r"^unsupported .*torch.nn.modules.linear.Linear.*state_dict\(\)")
        self.assertRegex(self.message(self.save({"epoch": 1, "a": {"b": 2}})), "^unsupported .*at its top it has epoch, a")
        self.assertRegex(self.message(self.save({"w": torch.ones(2, dtype=torch.complex64)})), "^unsupported .*tensor w")
        torch.jit.trace(model, torch.ones(1, 2)).save(str(self.dir / "script.pt"))
        self.assertRegex(self.message(self.dir / "script.pt"), "^unsupported .*TorchScript")
        self.assertRegex(self.message(self.dir / "nowhere.pth"), "^missing_data ")

    def test_damaged_files_are_refused_or_read_but_never_worse(self):
        good = self.save({"state_dict": torch.nn.Linear(3, 2).state_dict(), "epoch": 1}).read_bytes()
        chance = random.Random(11)
        files = []
        for i in range(1500):
            bytes_ = bytearray(good[:chance.randrange(len(good))] if i % 5 == 0 else good)
            for _ in range(chance.randrange(1, 5)):
                if bytes_:
                    bytes_[chance.randrange(len(bytes_))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
            files.append(self.dir / f"{i}.pth")
            files[-1].write_bytes(bytes_)
        answers = self.driver("read", *files).stdout.splitlines()
        self.assertEqual(len(answers), len(files))
        self.assertLessEqual({answer.split()[0] for answer in answers}, {"ok", "io", "unsupported"})
        self.assertTrue(all(not answers[i].startswith("ok") for i in range(0, 1500, 5)), "truncated ones")


class Exchange(WeightsCase):
    """The same network here and there."""

    def exchange(self, content, model, params, size):
        x = torch.randn(4, 3, size, size, generator=torch.Generator().manual_seed(1))
        safetensors.torch.save_file({"x": x}, self.dir / "x.safetensors")
        done = self.driver("encode", "resnet18", params, self.save(content), "x.safetensors", "y.safetensors")
        with torch.no_grad():
            expected = model(x)
        features = safetensors.torch.load_file(self.dir / "y.safetensors")["features"]
        torch.testing.assert_close(features, expected, rtol=1e-4, atol=1e-4)
        self.assertGreater(expected.std().item(), 0.01)
        return done.stdout

    def check_export(self, model, **options):
        exported = self.dir / "y.safetensors.export"
        fresh = ResNet18(**options)
        fresh.load_state_dict(safetensors.torch.load_file(exported), strict=True)
        for name, tensor in fresh.state_dict().items():
            self.assertTrue(torch.equal(tensor, model.state_dict()[name]), name)
        with safetensors.safe_open(exported, "pt") as file:
            self.assertEqual(file.metadata(), {"format": "pt", "ghhost.backbone": "resnet18"})

    def test_full_resnet_of_imagenet(self):
        model = trained_resnet()
        state = {**model.state_dict(), "fc.weight": torch.ones(10, 512), "fc.bias": torch.ones(10)}
        told = self.exchange(state, model, "", 64)
        self.assertIn("not used: fc.weight, fc.bias", told)
        self.assertNotIn("initial values", told)
        self.check_export(model)

    def test_prefixes_of_the_usual_repositories(self):
        options = {"width": 8, "small": True}
        model = trained_resnet(**options)
        other = ResNet18(**options)
        for prefix, twin in (("module.encoder_q.", "module.encoder_k."), ("module.base_encoder.", "module.momentum_encoder."),
                             ("backbone.", "teacher_backbone."), ("module.", None), ("online.net.", "target.net.")):
            state = {prefix + name: value for name, value in model.state_dict().items()}
            if twin:
                state.update({twin + name: value for name, value in other.state_dict().items()})
            told = self.exchange({"state_dict": state}, model, 'width = 8\nstem = "small"', 32)
            self.assertIn(f"inside state_dict, under {prefix}*", told)
            self.check_export(model, **options)

    def test_another_stem_is_named(self):
        model = trained_resnet(width=8)
        safetensors.torch.save_file({"x": torch.ones(1, 3, 32, 32)}, self.dir / "x.safetensors")
        said = self.driver("encode", "resnet18", 'width = 8\nstem = "small"', self.save(model.state_dict()), "x.safetensors",
                           "y.safetensors", expect=1).stderr
        self.assertRegex(said, r"conv1.weight of shape \[8, 3, 7, 7\], the backbone of shape \[8, 3, 3, 3\].*stem")


class Program(WeightsCase):
    """From a PyTorch checkpoint through a run into PyTorch again."""

    RECIPE = SOURCE / "plugins/backbones/resnet/recipe.toml"
    # So little learning that parameters stay what they were; running statistics do move.
    STILL = ["train.epochs=1", "data.per_class=16", "train.batch=32", "train.optimizer.lr=1e-12", "--out", "run"]

    def test_weights_go_in_and_an_export_comes_out(self):
        model = trained_resnet(width=8, small=True)
        state = {"module.encoder_q." + name: value for name, value in model.state_dict().items()}
        file = self.save({"state_dict": {**state, "module.queue": torch.ones(8, 4)}, "epoch": 200})
        said = self.ghhost("run", self.RECIPE, f"backbone.weights={file}", *self.STILL).stderr
        self.assertRegex(said, r"weights: 120 of 120 tensors from .*w.pth, inside state_dict, under module.encoder_q.\*")
        self.assertIn("not used: module.queue", said)

        self.ghhost("export", "run", "--out", "encoder.safetensors")
        fresh = ResNet18(width=8, small=True)
        fresh.load_state_dict(safetensors.torch.load_file(self.dir / "encoder.safetensors"), strict=True)
        for (name, value), before in zip(fresh.named_parameters(), model.parameters()):
            torch.testing.assert_close(value, before, rtol=0, atol=1e-6, msg=name)
        self.assertFalse(torch.equal(fresh.bn1.running_mean, model.bn1.running_mean))
        with safetensors.safe_open(self.dir / "encoder.safetensors", "pt") as exported:
            facts = exported.metadata()
        self.assertEqual((facts["format"], facts["ghhost.backbone"], facts["ghhost.method"], facts["ghhost.epochs"]),
                         ("pt", "resnet18", "simclr", "1"))
        self.assertEqual(len(json.loads(facts["ghhost.data.mean"])), 3)

        # What was exported starts the next run.
        said = self.ghhost("run", self.RECIPE, "backbone.weights=encoder.safetensors", *self.STILL[:-1], "again").stderr
        self.assertIn("weights: 120 of 120 tensors", said)

    def test_weights_that_do_not_fit_stop_the_run(self):
        file = self.save(trained_resnet(width=16, small=True).state_dict())
        said = self.ghhost("run", self.RECIPE, f"backbone.weights={file}", *self.STILL, expect=78).stderr
        self.assertIn("backbone.weights: ", said)
        self.assertRegex(said, r"conv1.weight of shape \[16, 3, 3, 3\], the backbone of shape \[8, 3, 3, 3\]")


if __name__ == "__main__":
    unittest.main()
