"""A ResNet and SimCLR in plain PyTorch, with torchvision's names, to compare ghhost with."""
import torch
import torch.nn.functional as F
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or channels != width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        shortcut = self.downsample(x) if self.downsample is not None else x
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + shortcut)


class ResNet18(nn.Module):
    """Without classifier, with a small stem."""

    def __init__(self, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels = width
        for i in range(4):
            out = width << i
            stride = 1 if i == 0 else 2
            setattr(self, f"layer{i + 1}", nn.Sequential(BasicBlock(channels, out, stride), BasicBlock(out, out, 1)))
            channels = out

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(4):
            x = getattr(self, f"layer{i + 1}")(x)
        return x.mean((2, 3))



class SimClr(nn.Module):
    def __init__(self, width, embedding):
        super().__init__()
        self.encoder = ResNet18(width)
        features = 8 * width
        self.linear1 = nn.Linear(features, features)
        self.norm1 = nn.BatchNorm1d(features)
        self.linear2 = nn.Linear(features, embedding, bias=False)
        self.norm2 = nn.BatchNorm1d(embedding)

    def forward(self, x):
        return self.norm2(self.linear2(F.relu(self.norm1(self.linear1(self.encoder(x))))))


def nt_xent(z1, z2, temperature):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    similarity = z @ z.T / temperature
    similarity = similarity.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
    partner = torch.arange(len(z)).roll(len(z1))
    return F.cross_entropy(similarity, partner)
