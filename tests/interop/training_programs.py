"""Small training programs, each written once for torch and for weft: models, losses, optimisers.

A program is a function of a library and a `Run`. It is run once with each library; what it notes, and every parameter
and buffer of the models it made, must be equal in the end. `training_loops.py` has more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import weft
from weft import optim

PROGRAMS: dict[str, Callable[[Any, Run], None]] = {}
Programs = Callable[[Any, "Run"], None]


def program(function: Programs) -> Programs:
    """Make a function one of the programs."""
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = function
    return function


class Run:
    """One run of a program: numbers that are the same in every run, and what is to be compared."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.random = np.random.default_rng(0)
        self.noted: list[tuple[str, Any]] = []
        self.models: list[Any] = []

    def normal(self, *shape: int) -> Any:
        """Normal numbers, float64."""
        return self.lib.tensor(self.random.standard_normal(shape))

    def uniform(self, *shape: int) -> Any:
        """Numbers between 0 and 1, float64."""
        return self.lib.tensor(self.random.uniform(size=shape))

    def integers(self, high: int, *shape: int) -> Any:
        """Whole numbers below `high`."""
        return self.lib.tensor(self.random.integers(0, high, shape))

    def model(self, module: Any) -> Any:
        """The module in float64, its state set to small random numbers; compared in the end."""
        module.double()
        state = module.state_dict()
        fresh = {name: self.random.uniform(-0.4, 0.4, tuple(value.shape)) for name, value in state.items()}
        fresh |= {name: np.abs(value) + 0.5 for name, value in fresh.items() if "var" in name}
        tensors = {name: self.lib.tensor(value) for name, value in fresh.items() if "num_batches" not in name}
        module.load_state_dict({**state, **tensors})
        self.models.append(module)
        return module

    def note(self, name: str, value: Any) -> None:
        """Keep a value for the comparison: a tensor, or plain data."""
        tensor = isinstance(value, torch.Tensor | weft.Tensor)
        self.noted.append((name, np.array(value.detach().numpy()) if tensor else value))

    def train(self, optimizer: Any, loss_of: Callable[[], Any], steps: int = 6) -> None:
        """The plain loop, with a note of the loss at every step."""
        for _ in range(steps):
            optimizer.zero_grad()
            loss = loss_of()
            loss.backward()
            optimizer.step()
            self.note("loss", loss)

    def finish(self) -> list[tuple[str, Any]]:
        """Everything noted, and the state of the models."""
        for number, model in enumerate(self.models):
            for name, value in model.state_dict().items():
                self.note(f"model {number}: {name}", value)
        return self.noted


def running(lib: Any, name: str) -> list[tuple[str, Any]]:
    """Run a program with a library."""
    run = Run(lib)
    PROGRAMS[name](lib, run)
    return run.finish()


assert optim  # importing it makes weft.optim


# Feed-forward and convolutional


@program
def mlp(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    model = run.model(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    x, y = run.normal(10, 6), run.integers(4, 10)
    run.train(optimizer, lambda: F.cross_entropy(model(x), y), steps=20)
    run.note("accuracy", (model(x).argmax(dim=1) == y).double().mean())


@program
def cnn_with_batch_norm(lib: Any, run: Run) -> None:
    nn = lib.nn
    layers = [nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(1)]
    model = run.model(nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.5), nn.Linear(6, 3)))
    model[-2].eval()
    optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
    x, y = run.normal(5, 1, 8, 8), run.integers(3, 5)
    run.train(optimizer, lambda: nn.CrossEntropyLoss()(model(x), y))
    model.eval()
    with lib.no_grad():
        run.note("eval", model(x))
    run.note("batches", model[1].num_batches_tracked.item())


@program
def residual_blocks(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outside)
            self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outside)
            self.shortcut = nn.Identity()
            if stride != 1 or inside != outside:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
                )

        def forward(self, x: Any) -> Any:
            out = F.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return F.relu(out)

    model = run.model(nn.Sequential(Block(2, 4, 2), Block(4, 4, 1), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(4, 3)))
    optimizer = lib.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.05)
    x, y = run.normal(4, 2, 6, 6), run.integers(3, 4)
    run.train(optimizer, lambda: F.cross_entropy(model(x), y))


@program
def autoencoder(lib: Any, run: Run) -> None:
    nn = lib.nn
    encoder = nn.Sequential(nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(3, 4, 3, stride=2, padding=1))
    decoder = nn.Sequential(
        nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), nn.SiLU(), nn.ConvTranspose2d(3, 1, 2, 2)
    )
    model = run.model(nn.ModuleDict({"encoder": encoder, "decoder": decoder}))
    optimizer = lib.optim.RMSprop(model.parameters(), lr=0.01, momentum=0.5, centered=True)
    x = run.uniform(3, 1, 8, 8)
    run.train(optimizer, lambda: nn.functional.mse_loss(model["decoder"](model["encoder"](x)).sigmoid(), x))


@program
def u_net(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(1, 3, 3, padding=1)
            self.inner = nn.Conv2d(3, 3, 3, padding=1)
            self.norm = nn.GroupNorm(1, 3)
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
            self.out = nn.Conv2d(6, 1, 1)

        def forward(self, x: Any) -> Any:
            first = F.relu(self.down(x))
            inner = F.elu(self.norm(self.inner(F.avg_pool2d(first, 2))))
            return self.out(lib.cat([first, self.up(inner)], dim=1)).squeeze(1)

    model = run.model(Net())
    x, y = run.normal(2, 1, 6, 6), run.uniform(2, 6, 6).round()
    optimizer = lib.optim.Adam(model.parameters(), lr=0.02, amsgrad=True)
    run.train(optimizer, lambda: F.binary_cross_entropy_with_logits(model(x), y))


@program
def variational_autoencoder(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    parts = {"enc": nn.Linear(6, 8), "mu": nn.Linear(8, 2), "logvar": nn.Linear(8, 2), "dec": nn.Linear(2, 6)}
    model = run.model(nn.ModuleDict(parts))
    x, noise = run.uniform(5, 6), run.normal(5, 2)

    def loss() -> Any:
        h = lib.tanh(model["enc"](x))
        mu, logvar = model["mu"](h), model["logvar"](h)
        z = mu + noise * lib.exp(0.5 * logvar)
        reconstruction = F.binary_cross_entropy(lib.sigmoid(model["dec"](z)), x, reduction="sum")
        return reconstruction - 0.5 * lib.sum(1 + logvar - mu.pow(2) - logvar.exp())

    run.train(lib.optim.Adam(model.parameters(), lr=0.01), loss)


# Sequences


def _classify(lib: Any, run: Run, layer: Any, width: int) -> None:
    nn = lib.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(9, 4, padding_idx=0)
            self.rnn = layer
            self.head = nn.Linear(width, 3)

        def forward(self, tokens: Any) -> Any:
            output, _ = self.rnn(self.embedding(tokens))
            return self.head(output[:, -1])

    model = run.model(Tagger())
    with lib.no_grad():
        model.embedding.weight[0].fill_(0)
    tokens, y = run.integers(9, 4, 5), run.integers(3, 4)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
    run.train(optimizer, lambda: nn.functional.cross_entropy(model(tokens), y))
    run.note("padding", model.embedding.weight.grad[0])


@program
def rnn_classifier(lib: Any, run: Run) -> None:
    _classify(lib, run, lib.nn.RNN(4, 5, nonlinearity="relu", batch_first=True), 5)


@program
def lstm_classifier(lib: Any, run: Run) -> None:
    _classify(lib, run, lib.nn.LSTM(4, 5, num_layers=2, batch_first=True), 5)


@program
def gru_classifier(lib: Any, run: Run) -> None:
    _classify(lib, run, lib.nn.GRU(4, 5, bidirectional=True, batch_first=True), 10)


@program
def sequence_to_sequence(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    parts = {"source": nn.Embedding(7, 4), "target": nn.Embedding(6, 4)}
    parts |= {"encoder": nn.LSTM(4, 5), "decoder": nn.LSTM(4, 5), "out": nn.Linear(5, 6)}
    model = run.model(nn.ModuleDict(parts))
    source, target = run.integers(7, 4, 3), run.integers(6, 5, 3)

    def loss() -> Any:
        _, state = model["encoder"](model["source"](source))
        output, _ = model["decoder"](model["target"](target[:-1]), state)
        return F.cross_entropy(model["out"](output).reshape(-1, 6), target[1:].reshape(-1))

    optimizer = lib.optim.Adagrad(model.parameters(), lr=0.1)
    run.train(optimizer, loss)
    h = lib.tensor(np.zeros((1, 3, 5)))
    _, (h, _) = model["encoder"](model["source"](source), (h, lib.zeros_like(h)))
    run.note("state", h)


@program
def language_model_with_carried_state(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    model = run.model(nn.ModuleList([nn.Embedding(5, 3), nn.GRU(3, 4, batch_first=True), nn.Linear(4, 5)]))
    embed, rnn, out = model
    text, state = run.integers(5, 2, 25), None
    optimizer = lib.optim.SGD(model.parameters(), lr=0.5)
    for start in range(0, 24, 6):
        piece = text[:, start : start + 7]
        h, state = rnn(embed(piece[:, :-1]), state)
        loss = F.cross_entropy(out(h).transpose(1, 2), piece[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        state = state.detach()
        run.note("loss", loss)
        run.note("norm", norm)


@program
def cells_step_by_step(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.ModuleList([nn.LSTMCell(3, 4), nn.GRUCell(4, 4), nn.RNNCell(4, 2)]))
    x, y = run.normal(5, 2, 3), run.normal(2, 2)

    def loss() -> Any:
        h, c, g, r = (lib.tensor(np.zeros((2, size))) for size in (4, 4, 4, 2))
        for step in x:
            h, c = model[0](step, (h, c))
            g = model[1](h, g)
            r = model[2](g, r)
        return nn.functional.smooth_l1_loss(r, y)

    run.train(lib.optim.SGD(model.parameters(), lr=0.3), loss)


@program
def transformer_encoder_with_masks(lib: Any, run: Run) -> None:
    nn = lib.nn
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=False)
    model = run.model(nn.ModuleDict({"encoder": nn.TransformerEncoder(layer, 2), "head": nn.Linear(8, 3)}))
    x, y = run.normal(3, 5, 8), run.integers(3, 3)
    padding = lib.tensor(np.arange(5) >= np.array([[5], [3], [4]]))
    causal = lib.tensor(np.triu(np.ones((5, 5), bool), 1))

    def loss() -> Any:
        h = model["encoder"](x, mask=causal, src_key_padding_mask=padding)
        kept = h.masked_fill(padding.unsqueeze(-1), 0.0)
        pooled = kept.sum(dim=1) / (~padding).sum(dim=1, keepdim=True)
        return nn.functional.cross_entropy(model["head"](pooled), y)

    run.train(lib.optim.AdamW(model.parameters(), lr=0.01), loss)


@program
def gpt_with_tied_embeddings(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width)
            )
            self.register_buffer("mask", lib.tensor(np.tril(np.ones((6, 6)))), persistent=False)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.size()
            q, k, v = self.qkv(self.ln_1(x)).split(width, dim=2)
            q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
            scores = (q @ k.transpose(-2, -1)) * (1.0 / (width // self.heads) ** 0.5)
            scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
            mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, width)
            x = x + self.project(mixed)
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(7, 8), nn.Embedding(6, 8)
            self.blocks = nn.ModuleList([Block(8, 2) for _ in range(2)])
            self.ln_f = nn.LayerNorm(8)
            self.lm_head = nn.Linear(8, 7, bias=False)
            self.wte.weight = self.lm_head.weight

        def forward(self, tokens: Any, targets: Any) -> Any:
            x = self.wte(tokens) + self.wpe(lib.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            logits = self.lm_head(self.ln_f(x))
            return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    model = run.model(GPT())
    text = run.integers(7, 3, 7)
    run.note("parameters", sum(p.numel() for p in model.parameters()))
    run.train(lib.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95)), lambda: model(text[:, :-1], text[:, 1:]))
    run.note("tied", model.wte.weight is model.lm_head.weight)


@program
def attention_by_hand(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    model = run.model(nn.MultiheadAttention(6, 2, batch_first=True))
    out = run.model(nn.Linear(6, 6))
    x, y = run.normal(2, 4, 6), run.normal(2, 4, 6)
    mask = lib.tensor(np.triu(np.full((4, 4), -np.inf), 1))

    def loss() -> Any:
        attended, weights = model(x, x, x, attn_mask=mask, need_weights=True)
        q, k, v = out(attended).chunk(3, dim=-1)
        mixed = lib.einsum("bqd,bkd->bqk", q, k).softmax(dim=-1) @ v
        fused = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.mse_loss(attended, y) + mixed.square().mean() + fused.abs().mean() + weights.var(correction=1)

    run.train(lib.optim.Adam([*model.parameters(), *out.parameters()], lr=0.01), loss)


# Losses


@program
def cross_entropies(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    model = run.model(nn.Linear(4, 5))
    x, y, pixels = run.normal(6, 4), run.integers(5, 6), run.integers(5, 2, 3)
    y[1] = -100
    weight, soft = run.uniform(5), F.softmax(run.normal(6, 5), dim=1)
    smooth = nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)

    def loss() -> Any:
        logits = model(x)
        image = logits.reshape(2, 3, 5).permute(0, 2, 1)
        plain = F.cross_entropy(logits, soft) + F.nll_loss(F.log_softmax(logits, dim=1), y, weight=weight)
        return smooth(logits, y) + plain + F.cross_entropy(image, pixels, ignore_index=2, reduction="sum")

    run.train(lib.optim.SGD(model.parameters(), lr=0.1), loss)


@program
def multi_label_with_pos_weight(lib: Any, run: Run) -> None:
    nn = lib.nn
    model = run.model(nn.Linear(4, 3))
    x, y = run.normal(6, 4), run.uniform(6, 3).round()
    loss = nn.BCEWithLogitsLoss(weight=run.uniform(3), pos_weight=run.uniform(3) * 4)
    run.train(lib.optim.Adagrad(model.parameters(), lr=0.5, lr_decay=0.1), lambda: loss(model(x), y))


@program
def distillation(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    teacher, student = run.model(nn.Linear(4, 5)).eval(), run.model(nn.Linear(4, 5))
    for p in teacher.parameters():
        p.requires_grad = False
    x, y = run.normal(6, 4), run.integers(5, 6)

    def loss() -> Any:
        with lib.no_grad():
            taught = F.softmax(teacher(x) / 2, dim=-1)
        learnt = student(x)
        soft = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(learnt / 2, dim=-1), taught)
        return 0.7 * soft * 4 + 0.3 * F.cross_entropy(learnt, y)

    run.train(lib.optim.SGD(student.parameters(), lr=0.2), loss)
    run.note("frozen", all(p.grad is None for p in teacher.parameters()))


@program
def siamese(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    net = run.model(nn.Sequential(nn.Linear(5, 4), nn.PReLU(), nn.Linear(4, 3)))
    a, b, c, same = run.normal(4, 5), run.normal(4, 5), run.normal(4, 5), lib.tensor([1.0, -1.0, 1.0, -1.0])

    def loss() -> Any:
        first, second, third = net(a), net(b), net(c)
        distance = F.pairwise_distance(first, second)
        contrast = (distance**2 + (1.5 - distance).clamp(min=0) ** 2).mean()
        alike = nn.CosineEmbeddingLoss(margin=0.1)(first, second, same) + nn.CosineSimilarity(dim=1)(first, third).sum()
        return contrast + alike + nn.TripletMarginLoss(margin=0.5)(first, second, third)

    run.train(lib.optim.SGD(net.parameters(), lr=0.05, momentum=0.5), loss)


@program
def word_vectors(lib: Any, run: Run) -> None:
    nn, F = lib.nn, lib.nn.functional
    model = run.model(nn.ModuleDict({"centre": nn.Embedding(8, 4, padding_idx=0), "context": nn.Embedding(8, 4)}))
    word, context, others = run.integers(8, 6), run.integers(8, 6), run.integers(8, 6, 3)

    def loss() -> Any:
        centre = model["centre"](word)
        near = (centre * model["context"](context)).sum(dim=1)
        far = lib.bmm(model["context"](others), centre.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(1)).mean()

    run.train(lib.optim.SGD(model.parameters(), lr=0.5), loss)
