"""Twenty steps of SimCLR beside PyTorch, from the same weights on the same batches, in float64."""
import os
import pathlib
import subprocess
import sys
import unittest

from ghhost_case import SOURCE, GhhostCase

try:
    import torch
    from safetensors.torch import load_file

    from plain_resnet import SimClr, nt_xent
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

STEPS = 20
RECIPE = SOURCE / "recipes/cifar100-lt/simclr-narrow.toml"
# One batch an epoch, so that each line of metrics.jsonl is one step.
SETTINGS = ['train.dtype="float64"', 'train.device="cpu"', "backbone.width=4", f"train.epochs={STEPS}", "train.batch=96", "method.embedding=16",
            'train.schedule={id="constant"}', "checkpoint.every=1000"]
SHAPES = ['data={id="shapes", classes=8, longtail={law="counts", counts=[32,20,14,10,8,6,4,2]}}']
CIFAR = pathlib.Path(os.environ.get("GH_CIFAR100", "/nonexistent"))


class Parity(GhhostCase):
    def compare(self, rate, *data, parts=1, clip=float("inf")):
        sgd = f'train.optimizer={{id="sgd", lr={rate}, momentum=0.9, weight_decay=5e-4}}'
        overrides = [*SETTINGS, sgd, *data]
        subprocess.run([os.environ["BATCHES_DRIVER"], RECIPE, str(STEPS), self.dir / "batches.safetensors", *overrides], check=True)
        # A rate too small to move any weight leaves a checkpoint with the initial ones.
        self.ghhost("run", RECIPE, *overrides, "train.epochs=1", "train.optimizer.lr=1e-300", "--out", self.dir / "initial")
        self.ghhost("run", RECIPE, *overrides, "--out", self.dir / "run")
        ours = [line["loss"] for line in self.metrics(self.dir / "run")]
        weights = load_file(sorted((self.dir / "initial/checkpoints").glob("*.safetensors"))[-1])
        torch.set_num_threads(1)
        model = SimClr(4, 16).double()
        names = {"linear1": "0", "norm1": "1", "linear2": "2", "norm2": "3"}
        for name, parameter in model.named_parameters():
            head, _, tail = name.partition(".")
            stored = f"method.encoder.{tail}" if head == "encoder" else f"method.projector.{names[head]}.{tail}"
            parameter.data.copy_(weights[stored])
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=5e-4)
        batches = load_file(self.dir / "batches.safetensors")
        self.assertEqual(len(ours), STEPS)
        clipped = 0
        for step, loss in enumerate(ours):
            optimizer.zero_grad()
            expected = 0
            for first, second in zip(*(batches[f"{step}.0.{view}"].chunk(parts) for view in (0, 1))):
                value = nt_xent(model(first), model(second), 0.2) / parts
                value.backward()
                expected += value.item()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            clipped += bool(norm > clip)
            optimizer.step()
            self.assertAlmostEqual(loss, expected, delta=1e-8, msg=f"step {step + 1}")
        self.assertEqual(clipped > 0, clip < float("inf"))
        if clipped == 0:
            self.assertLess(ours[-1], ours[0])
        trained = load_file(sorted((self.dir / "run/checkpoints").glob("*.safetensors"))[-1])
        for name, parameter in model.encoder.named_parameters():
            self.assertLess((trained[f"method.encoder.{name}"] - parameter).abs().max().item(), 1e-8, name)
        print(f"largest difference of the losses of {STEPS} steps checked against 1e-8; loss {ours[0]:.6f} → {ours[-1]:.6f}")

    def test_on_drawn_shapes(self):
        # Flat shapes make training amplify rounding tenfold a step at larger rates.
        self.compare(0.001, *SHAPES)

    def test_a_batch_in_parts_with_a_clipped_gradient(self):
        self.compare(0.001, *SHAPES, "train.accumulate=2", "train.clip=4.0", parts=2, clip=4.0)

    @unittest.skipUnless(CIFAR.exists(), "set GH_CIFAR100 to the directory of CIFAR-100's binary files")
    def test_on_cifar100(self):
        self.compare(0.2, f'data.root="{CIFAR}"', f'data.longtail={{law="counts", counts={[1] * 100}}}', "train.batch=100")


if __name__ == "__main__":
    unittest.main()
