"""Layers for shapes, padding, distances and instances against `torch.nn`: state, values, gradients, text."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
import torch
from like_torch import compare, normal, pair

import weft
from weft import nn

IMAGE = normal(2, 3, 4, 5)

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[np.ndarray, ...]]] = [
    ("Unflatten", (1, (2, 3)), {}, (normal(2, 6),)),
    ("Unflatten", (-1, (2, -1)), {}, (normal(2, 6),)),
    ("PixelShuffle", (2,), {}, (normal(2, 8, 3, 4),)),
    ("PixelShuffle", (3,), {}, (normal(9, 2, 2),)),
    ("PixelUnshuffle", (2,), {}, (normal(2, 3, 4, 6),)),
    ("Unfold", ((2, 3),), {"padding": 1, "stride": 2}, (IMAGE,)),
    ("Fold", ((4, 5), (2, 2)), {"stride": 1}, (normal(2, 12, 12),)),
    ("Upsample", (), {"scale_factor": 2}, (IMAGE,)),
    ("Upsample", (), {"scale_factor": (2, 3), "mode": "bilinear"}, (IMAGE,)),
    ("Upsample", ((6, 7),), {"mode": "bilinear", "align_corners": True}, (IMAGE,)),
    ("Upsample", (9,), {"mode": "linear"}, (normal(2, 3, 4),)),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, (IMAGE,)),
    ("UpsamplingBilinear2d", ((3, 9),), {}, (IMAGE,)),
    *[
        (f"{kind}Pad{rank}d", args, {}, (normal(2, 3, *(4, 5, 6)[:rank]),))
        for kind, more in (
            ("Zero", ()),
            ("Constant", (2.5,)),
            ("Reflection", ()),
            ("Replication", ()),
            ("Circular", ()),
        )
        for rank in (1, 2, 3)
        for args in ((1, *more), ((1, 2, 0, 1, 2, 1)[: 2 * rank], *more))
    ],
    ("ZeroPad2d", ((-1, 1, 0, -2),), {}, (IMAGE,)),
    ("CosineSimilarity", (), {}, (normal(3, 4), normal(3, 4))),
    ("CosineSimilarity", (), {"dim": -1, "eps": 0.1}, (normal(2, 3, 4), normal(3, 4))),
    ("PairwiseDistance", (), {}, (normal(3, 4), normal(3, 4))),
    ("PairwiseDistance", (1.0,), {"keepdim": True}, (normal(3, 4), normal(3, 4))),
    ("InstanceNorm1d", (3,), {}, (normal(2, 3, 5),)),
    ("InstanceNorm1d", (3,), {"affine": True}, (normal(3, 5),)),
    ("InstanceNorm2d", (3,), {"affine": True, "eps": 0.1}, (IMAGE,)),
    ("InstanceNorm2d", (3,), {"track_running_stats": True, "momentum": 0.3}, (IMAGE,)),
    ("InstanceNorm3d", (2,), {}, (normal(2, 2, 3, 2, 2),)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "inputs"), CASES)
def test_layer(name: str, args: Any, kwargs: Any, inputs: Any) -> None:
    ours, theirs = pair(name, args, kwargs)
    assert re.sub(r"  # .*", "", repr(ours)) == repr(theirs)
    for training in (True, False):
        compare(ours.train(training), theirs.train(training), *inputs)


def test_parameter_containers() -> None:
    def program(lib: Any) -> list[Any]:
        one, two = (lib.nn.Parameter(lib.tensor(np.full(2, value))) for value in (1.0, 2.0))
        listed = lib.nn.ParameterList([one])
        listed += [two]
        listed.append(lib.tensor(np.zeros(1)))
        listed[0] = two
        named = lib.nn.ParameterDict([("a", one), ("b", two)])
        named.update({"c": lib.nn.Parameter(lib.tensor(np.ones(3)))})
        popped = named.pop("a")
        notes: list[Any] = [
            len(listed),
            listed[-1].shape[0],
            listed[0] is listed[1],
            isinstance(listed[2], lib.nn.Parameter),
        ]
        notes += [len(listed[1:]), list(named), list(named.keys()), len(named), popped is one, "a" in named]
        notes += [named.get("zzz"), [k for k, _ in named.items()], [tuple(v.shape) for v in named.values()]]
        for holder in (listed, named):
            notes += [list(holder.state_dict()), [n for n, _ in holder.named_parameters(remove_duplicate=False)]]
            twin = copy.deepcopy(holder)
            twin.load_state_dict({key: value * 0 + 5 for key, value in holder.state_dict().items()})
            notes += [[p.tolist() for p in twin.parameters()]]
        with pytest.raises(IndexError):
            listed[7]
        return notes

    assert program(weft) == program(torch)


def test_what_a_parameter_container_refuses() -> None:
    with pytest.raises(KeyError, match="zzz"):  # torch raises AttributeError
        nn.ParameterDict({"a": nn.Parameter([1.0])})["zzz"]
    with pytest.raises(TypeError, match="ParameterList: expected a Parameter or a Tensor, got int"):
        nn.ParameterList([3])
    with pytest.raises(KeyError, match="must not contain a dot"):
        nn.ParameterDict({"a.b": nn.Parameter([1.0])})


def test_gumbel_softmax() -> None:
    """Random, so: what it chooses, how often, and what its gradient is made of."""
    logits = weft.tensor(np.log(np.tile([0.1, 0.2, 0.7], (4000, 1))), requires_grad=True)
    weft.manual_seed(0)
    soft = nn.functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.numpy().sum(1), 1.0, rtol=1e-12)
    weft.manual_seed(0)
    hard = nn.functional.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(hard.numpy(), np.eye(3)[soft.numpy().argmax(1)], atol=1e-12)
    # The share of 4000 draws is within 4 standard deviations, of at most 0.008 each.
    np.testing.assert_allclose(hard.numpy().mean(0), [0.1, 0.2, 0.7], atol=0.032)
    weight = normal(3)
    (through,) = weft.autograd.grad((hard * weight).sum(), logits, retain_graph=True)
    (plain,) = weft.autograd.grad((soft * weight).sum(), logits)
    np.testing.assert_allclose(through.numpy(), plain.numpy(), rtol=1e-10)
