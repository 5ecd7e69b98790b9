"""The programs that are traced, written once for every library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def chain(ops: int, relu: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of `ops` operations: operators on both sides, a library function, now and then an earlier value."""

    def program(x: Any) -> Any:
        first = x
        for _ in range(ops // 5):
            x = x + 1
            x = relu(x)
            x = x * 0.5
            x = 2.0 - x
            x = x + first
        return x

    return program


def resnet50(library: Any, flatten: Callable[[Any, int], Any]) -> Any:
    """ResNet-50 from either library's `nn`: 53 convolutions in 16 bottleneck blocks."""
    nn = library

    class Bottleneck(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * width
            self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU()
            self.shortcut = None
            if stride != 1 or inputs != outputs:
                conv = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
                self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))

    class ResNet50(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
                nn.BatchNorm2d(64),
                nn.ReLU(),
                nn.MaxPool2d(3, 2, 1),
            )
            blocks, inputs = [], 64
            for width, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
                for i in range(count):
                    blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                    inputs = 4 * width
            self.blocks = nn.Sequential(*blocks)
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(inputs, 1000)

        def forward(self, x: Any) -> Any:
            return self.fc(flatten(self.pool(self.blocks(self.stem(x))), 1))

    return ResNet50()
