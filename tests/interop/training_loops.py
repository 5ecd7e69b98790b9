"""More training programs for `training_programs.py`: loops, schedules, gradients and state handled by the program."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from training_programs import Run, program

# Two optimisers, groups, frozen parts


@program
def adversarial_pair(lib: Any, run: Run) -> None:
    nn = lib.nn
    maker = run.model(nn.Sequential(nn.Linear(3, 6), nn.LeakyReLU(0.2), nn.Linear(6, 4), nn.Tanh()))
    judge = run.model(nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1), nn.Sigmoid()))
    maker_steps = lib.optim.Adam(maker.parameters(), lr=0.01, betas=(0.5, 0.999))
    judge_steps = lib.optim.Adam(judge.parameters(), lr=0.01, betas=(0.5, 0.999))
    criterion = nn.BCELoss()
    for _ in range(6):
        real, noise = run.normal(5, 4), run.normal(5, 3)
        ones, zeros = lib.ones_like(real[:, :1]), lib.zeros_like(real[:, :1])
        fake = maker(noise)
        judge_steps.zero_grad()
        judged = criterion(judge(real), ones) + criterion(judge(fake.detach()), zeros)
        judged.backward()
        judge_steps.step()
        maker_steps.zero_grad()
        made = criterion(judge(fake), ones)
        made.backward()
        maker_steps.step()
        run.note("judge", judged)
        run.note("maker", made)


@program
def gradient_penalty(lib: Any, run: Run) -> None:
    nn = lib.nn
    critic = run.model(nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1)))
    optimizer = lib.optim.RMSprop(critic.parameters(), lr=0.01)
    real, fake, mix = run.normal(4, 3), run.normal(4, 3), run.uniform(4, 1)

    def loss() -> Any:
        between = (mix * real + (1 - mix) * fake).requires_grad_(True)
        scores = critic(between)
        (slope,) = lib.autograd.grad(scores, between, grad_outputs=lib.ones_like(scores), create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    run.train(optimizer, loss)


@program
def physics_informed(lib: Any, run: Run) -> None:
    nn = lib.nn
    net = run.model(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    points = lib.tensor(np.linspace(0, 1, 7)[:, None], requires_grad=True)

    def loss() -> Any:
        y = net(points)
        first = lib.autograd.grad(y.sum(), points, create_graph=True)[0]
        second = lib.autograd.grad(first.sum(), points, create_graph=True)[0]
        return (second + y).pow(2).mean() + (net(points[:1]) - 1).pow(2).mean()

    run.train(lib.optim.Adam(net.parameters(), lr=0.02), loss)


@program
def inner_loop(lib: Any, run: Run) -> None:
    """Learns a start from which one step of gradient descent goes far."""
    F = lib.nn.functional
    model = run.model(lib.nn.Linear(3, 2))
    optimizer = lib.optim.Adam(model.parameters(), lr=0.05)
    tasks = [(run.normal(4, 3), run.normal(4, 2)) for _ in range(3)]

    def loss() -> Any:
        total = 0.0
        for x, y in tasks:
            weights = [model.weight, model.bias]
            slopes = lib.autograd.grad(F.mse_loss(F.linear(x, *weights), y), weights, create_graph=True)
            weights = [w - 0.1 * s for w, s in zip(weights, slopes, strict=True)]
            total = total + F.mse_loss(F.linear(x, *weights), y)
        return total / len(tasks)

    run.train(optimizer, loss)


@program
def frozen_layers_and_groups(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)))
    for p in model[0].parameters():
        p.requires_grad = False
    groups = [{"params": model[2].parameters(), "lr": 0.01}, {"params": model[4].parameters()}]
    optimizer = lib.optim.SGD(groups, lr=0.1, momentum=0.9)
    x, y = run.normal(6, 4), run.normal(6, 2)
    run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=3)
    model[0].requires_grad_(True)
    optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.001, "momentum": 0.0})
    run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=3)
    run.note("rates", [group["lr"] for group in optimizer.param_groups])


@program
def no_decay_for_biases(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.ReLU(), nn.Linear(5, 2)))
    decay = [p for name, p in model.named_parameters() if p.dim() >= 2]
    others = [p for name, p in model.named_parameters() if p.ndim < 2 or (name.endswith(".bias") and p.dim() != 1)]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    x, y = run.normal(6, 4), run.normal(6, 2)
    run.train(lib.optim.AdamW(groups, lr=0.01), lambda: nn.HuberLoss(delta=0.5)(model(x), y))


# The loop itself


@program
def gradient_accumulation(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Linear(4, 2))
    optimizer = lib.optim.Adam(model.parameters(), lr=0.05)
    x, y = run.normal(12, 4), run.normal(12, 2)
    for number in range(12):
        loss = nn.functional.l1_loss(model(x[number : number + 1]), y[number : number + 1]) / 3
        loss.backward()
        run.note("loss", loss.item())
        if (number + 1) % 3 == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=number % 2 == 0)


@program
def clipping(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(4, 4), nn.ELU(), nn.Linear(4, 1)))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    x, y = run.normal(6, 4), run.normal(6, 1) * 10
    for step, order in enumerate((2.0, 1.0, float("inf"), 2.0)):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        run.note("norm", nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5 + step, norm_type=order))
        nn.utils.clip_grad_value_(model.parameters(), 0.2)
        optimizer.step()
        run.note("largest", max(p.grad.abs().max().item() for p in model.parameters()))


@program
def descent_by_hand(lib: Any, run: Run) -> None:
    w = run.normal(3, 2).requires_grad_(True)
    b = lib.tensor(np.zeros(2), requires_grad=True)
    x, y = run.normal(8, 3), run.normal(8, 2)
    for step in range(8):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        run.note("loss", loss)
        if step % 2:
            with lib.no_grad():
                w -= 0.1 * w.grad
                b -= 0.1 * b.grad
                w.grad.zero_()
                b.grad.zero_()
        else:
            for p in (w, b):
                p.data.add_(p.grad.data, alpha=-0.1)
                p.data = p.data * 0.99
                p.grad = None
    run.note("w", w)
    run.note("b", b)


@program
def weight_average(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    average, other = copy.deepcopy(model), copy.deepcopy(model)
    run.models += [average, other]
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    x, y = run.normal(6, 3), run.normal(6, 2)
    for _ in range(4):
        run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=1)
        with lib.no_grad():
            for kept, p in zip(average.parameters(), model.parameters(), strict=True):
                kept.mul_(0.9).add_(p, alpha=0.1)
            for kept, p in zip(other.parameters(), model.parameters(), strict=True):
                kept.lerp_(p, 0.1)
            for kept, p in zip(average.buffers(), model.buffers(), strict=True):
                kept.copy_(p)


@program
def lbfgs(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)))
    x = run.normal(8, 2)
    y = (x[:, :1] * x[:, 1:]).sin()
    for line_search in (None, "strong_wolfe"):
        optimizer = lib.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, history_size=4, line_search_fn=line_search)

        def closure(optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(3):
            run.note("loss", optimizer.step(closure))


def _scheduled(name: str, make: Callable[[Any, Any], Any], plateau: bool = False) -> None:
    def scheduled(lib: Any, run: Run) -> None:
        nn = lib.nn
        model = run.model(nn.Linear(3, 1))
        optimizer = lib.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        schedule = make(lib.optim.lr_scheduler, optimizer)
        x, y = run.normal(5, 3), run.normal(5, 1)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            schedule.step(*([loss.item()] if plateau else []))
            run.note("loss", loss)
            run.note("rate", optimizer.param_groups[0]["lr"])

    scheduled.__name__ = f"schedule_{name}"
    program(scheduled)


_scheduled("step", lambda s, o: s.StepLR(o, 3, 0.5))
_scheduled("multi_step", lambda s, o: s.MultiStepLR(o, [2, 5], gamma=0.3))
_scheduled("exponential", lambda s, o: s.ExponentialLR(o, 0.9))
_scheduled("cosine", lambda s, o: s.CosineAnnealingLR(o, T_max=8, eta_min=0.01))
_scheduled("restarts", lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2))
_scheduled("one_cycle", lambda s, o: s.OneCycleLR(o, max_lr=0.3, total_steps=13))
_scheduled("linear", lambda s, o: s.LinearLR(o, start_factor=0.1, total_iters=5))
_scheduled("constant", lambda s, o: s.ConstantLR(o, factor=0.5, total_iters=4))
_scheduled("polynomial", lambda s, o: s.PolynomialLR(o, total_iters=10, power=2.0))
_scheduled("lambda", lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch))
_scheduled("multiplicative", lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.9))
_scheduled("plateau", lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=1), plateau=True)
_scheduled(
    "warm_up_then_cosine",
    lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 9)], milestones=[3]),
)
_scheduled("chained", lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]))


# Modules put together by hand


@program
def parameters_in_containers(lib: Any, run: Run) -> None:
    nn = lib.nn

    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(lib.tensor(np.zeros((3, 3)))) for _ in range(2)])
            self.weights.append(nn.Parameter(lib.tensor(np.zeros((3, 3)))))
            self.scales = nn.ParameterDict({"in": nn.Parameter(lib.tensor(np.zeros(3)))})
            self.scales["out"] = nn.Parameter(lib.tensor(np.zeros(3)))
            self.log_scale = nn.Parameter(lib.tensor(0.0))

        def forward(self, x: Any) -> Any:
            x = x * self.scales["in"].exp()
            for weight in self.weights:
                x = lib.tanh(x @ weight) + x
            return x * self.scales["out"] * self.log_scale.exp()

    model = run.model(Mixture())
    run.note("names", [name for name, _ in model.named_parameters()])
    run.note("lengths", (len(model.weights), len(model.scales), sorted(model.scales.keys()), "in" in model.scales))
    x, y = run.normal(4, 3), run.normal(4, 3)
    run.train(lib.optim.Adam(model.parameters(), lr=0.05), lambda: nn.functional.mse_loss(model(x), y))


@program
def routed_modules(lib: Any, run: Run) -> None:
    nn = lib.nn

    class Routed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleDict(
                {"small": nn.Linear(3, 2), "large": nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))}
            )
            self.acts = nn.ModuleDict([["relu", nn.ReLU()], ["tanh", nn.Tanh()]])

        def forward(self, x: Any, expert: str, act: str) -> Any:
            return self.acts[act](self.experts[expert](x))

    model = run.model(Routed())
    optimizer = lib.optim.Adam(model.parameters(), lr=0.05)
    x, y = run.normal(5, 3), run.normal(5, 2)
    for step in range(6):
        optimizer.zero_grad()
        chosen = ("small", "large")[step % 3 == 0]
        loss = nn.functional.mse_loss(model(x, chosen, act=("relu", "tanh")[step % 2]), y)
        loss.backward()
        optimizer.step()
        run.note("loss", loss)
        run.note("unused", [p.grad is None for p in model.parameters()])


@program
def own_function(lib: Any, run: Run) -> None:
    nn = lib.nn

    class Quantize(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, step: float) -> Any:
            ctx.save_for_backward(x)
            ctx.step = step
            return (x / step).round() * step

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x.abs() < 10 * ctx.step), None

    model = run.model(nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2)))
    x, y = run.normal(6, 4), run.normal(6, 2)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    run.train(optimizer, lambda: nn.functional.mse_loss(model[1](Quantize.apply(model[0](x), 0.1)), y))


@program
def hooks(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)))
    seen: dict[str, Any] = {}

    def keep(module: Any, args: Any, output: Any) -> None:
        seen["activation"] = output.detach()

    def halve(module: Any, args: Any) -> Any:
        return (args[0] * 0.5,)

    def backward(module: Any, grad_input: Any, grad_output: Any) -> Any:
        run.note("grad output", grad_output[0])
        return (grad_input[0] * 2,)

    handles = [model[0].register_forward_hook(keep), model[2].register_forward_pre_hook(halve)]
    handles += [
        model[2].register_full_backward_hook(backward),
        model[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1)),
    ]
    optimizer = lib.optim.SGD(model.parameters(), lr=0.5)
    x, y = run.normal(6, 4), run.normal(6, 2)
    run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=3)
    run.note("activation", seen["activation"])
    for handle in handles:
        handle.remove()
    hidden = model[1](model[0](x))
    hidden.retain_grad()
    hidden.register_hook(lambda g: g * 3)
    model[2](hidden).sum().backward()
    run.note("hidden", hidden.grad)
    run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=3)


@program
def saved_half_way(lib: Any, run: Run) -> None:
    nn = lib.nn

    def fresh() -> tuple[Any, Any, Any]:
        model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
        optimizer = lib.optim.Adam(model.parameters(), lr=0.05)
        return model, optimizer, lib.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    x, y = run.normal(6, 3), run.normal(6, 1)

    def train(model: Any, optimizer: Any, schedule: Any) -> None:
        for _ in range(3):
            run.train(optimizer, lambda: nn.functional.mse_loss(model(x), y), steps=1)
            schedule.step()

    first = fresh()
    run.model(first[0])
    train(*first)
    saved = copy.deepcopy([part.state_dict() for part in first])
    train(*first)
    second = fresh()
    for part, state in zip(second, saved, strict=True):
        part.load_state_dict(state)
    train(*second)
    run.models.append(second[0])
    same = zip(first[0].state_dict().values(), second[0].state_dict().values(), strict=True)
    run.note("same", all(np.array_equal(a.numpy(), b.numpy()) for a, b in same))


@program
def partly_loaded(lib: Any, run: Run) -> None:
    nn = lib.nn
    trained = run.model(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    larger = run.model(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 5)))
    state = {name: value for name, value in trained.state_dict().items() if not name.startswith("2.")}
    report = larger.load_state_dict({**state, "head.weight": state["0.bias"]}, strict=False)
    run.note("missing", list(report.missing_keys))
    run.note("unexpected", list(report.unexpected_keys))
    x, y = run.normal(6, 3), run.integers(5, 6)
    optimizer = lib.optim.SGD(filter(lambda p: p.requires_grad, larger.parameters()), lr=0.1)
    run.train(optimizer, lambda: nn.functional.cross_entropy(larger(x), y))


@program
def recomputed_blocks(lib: Any, run: Run) -> None:
    nn = lib.nn
    blocks = run.model(nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4)) for _ in range(3)]))
    x, y = run.normal(5, 4), run.normal(5, 4)
    checkpoint = (
        (lambda f, x: lib.utils.checkpoint.checkpoint(f, x, use_reentrant=False))
        if hasattr(lib, "utils")
        else lib.autograd.checkpoint
    )

    def loss() -> Any:
        h = x
        for block in blocks:
            h = h + checkpoint(block, h)
        return nn.functional.mse_loss(h, y)

    run.train(lib.optim.Adam(blocks.parameters(), lr=0.01), loss)


# Reinforcement learning and friends


@program
def policy_gradient(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    policy = run.model(nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4)))
    states, actions, rewards = run.normal(8, 3), run.integers(4, 8), run.normal(8)
    returns = (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-8)

    def loss() -> Any:
        log_probs = F.log_softmax(policy(states), dim=-1)
        chosen = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        return -(chosen * returns).mean() - 0.01 * entropy

    run.train(lib.optim.Adam(policy.parameters(), lr=0.05), loss)


@program
def q_learning(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    net = run.model(nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 4)))
    target = copy.deepcopy(net)
    run.models.append(target)
    target.requires_grad_(False)
    optimizer = lib.optim.AdamW(net.parameters(), lr=0.01, amsgrad=True)
    for _ in range(6):
        state, action, reward, after = run.normal(5, 3), run.integers(4, 5), run.normal(5), run.normal(5, 3)
        done = lib.tensor(np.array([False, True, False, False, True]))
        with lib.no_grad():
            best = net(after).argmax(dim=1, keepdim=True)
            future = target(after).gather(1, best).squeeze(1)
            future[done] = 0.0
        chosen = net(state)[lib.arange(5), action]
        loss = F.smooth_l1_loss(chosen, reward + 0.9 * future)
        optimizer.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.grad.data.clamp_(-1, 1)
        optimizer.step()
        for kept, p in zip(target.parameters(), net.parameters(), strict=True):
            kept.data.copy_(0.1 * p.data + 0.9 * kept.data)
        run.note("loss", loss)


@program
def in_place_activations(lib: Any, run: Run) -> None:
    nn = lib.nn
    net = run.model(
        nn.Sequential(nn.Linear(4, 6), nn.ReLU(inplace=True), nn.Linear(6, 6), nn.ELU(inplace=True), nn.Linear(6, 2))
    )
    x, y = run.normal(5, 4), run.normal(5, 2)

    def loss() -> Any:
        out = net(x)
        total = lib.zeros_like(out)
        total[:, 0] = out[:, 0] ** 2
        total[:, 1] += out[:, 1] * 2
        return nn.functional.mse_loss(total, y)

    run.train(lib.optim.SGD(net.parameters(), lr=0.05), loss)


@program
def pickled_model(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Sequential(nn.Linear(3, 3), nn.Softsign(), nn.Linear(3, 1)))
    again = nn.Sequential(nn.Linear(3, 3), nn.Softsign(), nn.Linear(3, 1)).double()
    again.load_state_dict(pickle.loads(pickle.dumps(model.state_dict())))
    run.models.append(again)
    x, y = run.normal(4, 3), run.normal(4, 1)
    run.train(lib.optim.SGD(again.parameters(), lr=0.1), lambda: nn.functional.mse_loss(again(x), y))
