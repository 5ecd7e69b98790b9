"""Classes with state, as people write them: filters, controllers, simulations, games, statistics, searches, caches.

Each is a pair of a class and the calls made of an object, one after the other.
"""

from __future__ import annotations

import collections
import enum
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CASES: dict[str, tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = {}


def case(*calls: Any, given: tuple[Any, ...] = ()) -> Any:
    def add(cls: Any) -> Any:
        CASES[cls.__name__] = (cls, given, list(calls))
        return cls

    return add


NUMBERS = [1.0, 2.5, -1.0, 4.0, 0.5, 3.0, -2.0, 8.0]


def each(name: str, values: Any = NUMBERS) -> list[tuple[Any, ...]]:
    return [(name, value) for value in values]


@case(*(call for z in NUMBERS for call in (("predict",), ("update", z))))
class Kalman:
    def __init__(self) -> None:
        self.x, self.P = np.zeros(2), np.eye(2)
        self.F, self.H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        self.Q, self.R = np.eye(2) * 0.01, 0.5

    def predict(self) -> Any:
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        return self.x

    def update(self, z: Any) -> Any:
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T / S
        self.x = self.x + (K * y).ravel()
        self.P = (np.eye(2) - K @ self.H) @ self.P
        return y


@case(*each("step"), given=(1.0, 0.5, 0.1))
class PID:
    def __init__(self, kp: float, ki: float, kd: float) -> None:
        self.kp, self.ki, self.kd = kp, ki, kd
        self.integral, self.previous, self.limit = 0.0, None, 2.0

    def step(self, error: float) -> float:
        self.integral += error * 0.1
        self.integral = max(-self.limit, min(self.limit, self.integral))
        slope = 0.0 if self.previous is None else (error - self.previous) / 0.1
        self.previous = error
        return self.kp * error + self.ki * self.integral + self.kd * slope


@case(*each("step", [np.array([0.3, 0.1]), np.array([0.5, 0.2]), np.array([0.6, 0.2]), np.array([0.1, 0.9])]))
class ParticleFilter:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)
        self.particles = self.rng.normal(size=(20, 2))
        self.weights = np.full(20, 1 / 20)

    def step(self, seen: Any) -> Any:
        self.particles += self.rng.normal(scale=0.1, size=self.particles.shape)
        distance = np.sum((self.particles - seen) ** 2, axis=1)
        self.weights *= np.exp(-distance)
        self.weights /= self.weights.sum()
        if 1 / np.sum(self.weights**2) < 10:
            places = np.searchsorted(np.cumsum(self.weights), (np.arange(20) + 0.5) / 20)
            self.particles = self.particles[np.minimum(places, 19)]
            self.weights = np.full(20, 1 / 20)
        return self.weights @ self.particles


@case(*each("add"))
class MovingAverage:
    def __init__(self) -> None:
        self.size, self.values = 3, []

    def add(self, value: float) -> float:
        self.values.append(value)
        if len(self.values) > self.size:
            self.values.pop(0)
        return sum(self.values) / len(self.values)


@case(*each("add"))
class DequeAverage:
    def __init__(self) -> None:
        self.window, self.total = collections.deque(maxlen=3), 0.0

    def add(self, value: float) -> float:
        if len(self.window) == 3:
            self.total -= self.window[0]
        self.window.append(value)
        self.total += value
        return self.total / len(self.window)


@case(*each("forward", [np.arange(3.0), np.ones(3), -np.ones(3), np.zeros(3)]))
class RNNCell:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.Wx, self.Wh, self.b = rng.normal(size=(4, 3)), rng.normal(size=(4, 4)), np.zeros(4)
        self.h, self.states = np.zeros(4), []

    def forward(self, x: Any) -> Any:
        self.h = np.tanh(self.Wx @ x + self.Wh @ self.h + self.b)
        self.states.append(self.h)
        return self.h


@case(*each("step", [np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.5, 0.5]), np.array([-1.0, 0.0, 1.0])] * 2))
class Adam:
    def __init__(self) -> None:
        self.w, self.t, self.lr = np.ones(3), 0, 0.1
        self.m, self.v = None, None

    def step(self, g: Any) -> Any:
        if self.m is None:
            self.m, self.v = np.zeros_like(g), np.zeros_like(g)
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m = self.m / (1 - 0.9**self.t)
        v = self.v / (1 - 0.999**self.t)
        self.w -= self.lr * m / (np.sqrt(v) + 1e-8)
        return self.w


class Account:
    def __init__(self, owner: str, balance: float) -> None:
        self.owner, self.balance, self.log = owner, balance, []


@case(
    ("transfer", 0, 1, 30.0), ("transfer", 1, 2, 500.0), ("interest", 0.1), ("transfer", 2, 0, 1.0), ("interest", 0.2)
)
class Bank:
    def __init__(self) -> None:
        self.accounts = [Account("a", 100.0), Account("b", 50.0), Account("c", 10.0)]
        self.failures = 0

    def transfer(self, source: int, target: int, amount: float) -> bool:
        giver, taker = self.accounts[source], self.accounts[target]
        if giver.balance < amount:
            self.failures += 1
            return False
        giver.balance -= amount
        taker.balance += amount
        giver.log.append(-amount)
        taker.log.append(amount)
        return True

    def interest(self, rate: float) -> float:
        total = 0.0
        for account in self.accounts:
            gain = account.balance * rate
            account.balance += gain
            total += gain
        return total


@case(("step",), ("step",), ("run", 3), ("step",), ("run", 5))
class Life:
    def __init__(self) -> None:
        self.grid = np.zeros((8, 8), int)
        self.grid[1, 2] = self.grid[2, 3] = self.grid[3, 1] = self.grid[3, 2] = self.grid[3, 3] = 1
        self.generation = 0

    def step(self) -> int:
        neighbours = sum(
            np.roll(np.roll(self.grid, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
        )
        self.grid = ((neighbours == 3) | ((self.grid == 1) & (neighbours == 2))).astype(int)
        self.generation += 1
        return int(self.grid.sum())

    def run(self, steps: int) -> int:
        for _ in range(steps):
            self.step()
        return self.generation


@case(("step",), ("step",), ("step",))
class Rule110:
    def __init__(self) -> None:
        self.cells = np.zeros(16, int)
        self.cells[-2] = 1
        self.history = [self.cells.copy()]

    def step(self) -> Any:
        new = np.zeros_like(self.cells)
        for i in range(len(self.cells)):
            left, centre = self.cells[i - 1], self.cells[i]
            right = self.cells[(i + 1) % len(self.cells)]
            new[i] = (110 >> (4 * left + 2 * centre + right)) & 1
        self.cells = new
        self.history.append(new.copy())
        return new


@case(*each("push"), ("oldest",), ("mean",))
class Ring:
    def __init__(self) -> None:
        self.data, self.at, self.full = np.zeros(4), 0, False

    def push(self, value: float) -> None:
        self.data[self.at] = value
        self.at += 1
        if self.at == len(self.data):
            self.at, self.full = 0, True

    def oldest(self) -> float:
        return self.data[self.at] if self.full else self.data[0]

    def mean(self) -> float:
        return self.data.mean() if self.full else self.data[: self.at].mean()


@case(*each("add"))
class Welford:
    def __init__(self) -> None:
        self.n, self.mean, self.m2 = 0, 0.0, 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, x: float) -> None:
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)
        self.low = min(self.low, x)
        if x > self.high:
            self.high = x

    @property
    def variance(self) -> float:
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0


@case(*each("process", [np.arange(5.0), np.ones(5), -np.arange(5.0)]), *each("sample", [1.0, 2.0, 3.0]))
class Biquad:
    def __init__(self) -> None:
        self.b, self.a = (0.2, 0.3, 0.2), (-0.5, 0.2)
        self.z1 = self.z2 = 0.0

    def sample(self, x: float) -> float:
        y = self.b[0] * x + self.z1
        self.z1 = self.b[1] * x - self.a[0] * y + self.z2
        self.z2 = self.b[2] * x - self.a[1] * y
        return y

    def process(self, signal: Any) -> Any:
        out = np.empty_like(signal)
        for i in range(len(signal)):
            out[i] = self.sample(signal[i])
        return out


@case(("walk", 5), ("walk", 3), ("walk", 1))
class Walker:
    def __init__(self) -> None:
        self.rng, self.position, self.path = np.random.default_rng(7), np.zeros(2), []

    def walk(self, steps: int) -> Any:
        for _ in range(steps):
            self.position = self.position + self.rng.normal(size=2)
            self.path.append(self.position)
        return self.position


@case(("step",), ("step",), ("step",), ("step",), ("step",))
class Metropolis:
    def __init__(self) -> None:
        self.rng, self.x, self.accepted, self.tried = np.random.default_rng(1), 0.0, 0, 0
        self.samples = []

    def energy(self, x: Any) -> Any:
        return 0.5 * x * x

    def step(self) -> float:
        proposal = self.x + self.rng.normal()
        self.tried += 1
        if self.rng.random() < np.exp(self.energy(self.x) - self.energy(proposal)):
            self.x = proposal
            self.accepted += 1
        self.samples.append(self.x)
        return self.accepted / self.tried


@case(("search", 0), ("search", 3), ("search", 5))
class Search:
    def __init__(self) -> None:
        self.edges = {0: [1, 2], 1: [3], 2: [3, 4], 3: [5], 4: [], 5: []}
        self.visited, self.order = set(), []

    def search(self, start: int) -> Any:
        stack = [start]
        while stack:
            node = stack.pop()
            if node in self.visited:
                continue
            self.visited.add(node)
            self.order.append(node)
            stack.extend(self.edges[node])
        return len(self.order)


@case(*each("push", [5, 3, 8, 1]), ("pop",), ("pop",), ("push", 2), ("pop",))
class Heap:
    def __init__(self) -> None:
        self.items = []

    def push(self, value: int) -> None:
        self.items.append(value)
        i = len(self.items) - 1
        while i > 0 and self.items[(i - 1) // 2] > self.items[i]:
            parent = (i - 1) // 2
            self.items[i], self.items[parent] = self.items[parent], self.items[i]
            i = parent

    def pop(self) -> int:
        top = self.items[0]
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            i = 0
            while True:
                child = 2 * i + 1
                if child >= len(self.items):
                    break
                if child + 1 < len(self.items) and self.items[child + 1] < self.items[child]:
                    child += 1
                if self.items[i] <= self.items[child]:
                    break
                self.items[i], self.items[child] = self.items[child], self.items[i]
                i = child
        return top


class Light(enum.Enum):
    RED = 1
    GREEN = 2
    YELLOW = 3


@case(*[("tick",)] * 9)
class TrafficLight:
    def __init__(self) -> None:
        self.state, self.timer, self.changes = Light.RED, 0, []

    def tick(self) -> Any:
        self.timer += 1
        if self.state is Light.RED and self.timer >= 3:
            self.to(Light.GREEN)
        elif self.state is Light.GREEN and self.timer >= 2:
            self.to(Light.YELLOW)
        elif self.state == Light.YELLOW:
            self.to(Light.RED)
        return self.state.name

    def to(self, state: Light) -> None:
        self.changes.append((self.state.name, state.name))
        self.state, self.timer = state, 0


@case(("coin",), ("push",), ("push",), ("coin",), ("coin",), ("push",))
class Turnstile:
    def __init__(self) -> None:
        self.state, self.coins = "locked", 0

    def coin(self) -> str:
        self.coins += 1
        if self.state == "locked":
            self.state = "open"
        return self.state

    def push(self) -> bool:
        if self.state == "open":
            self.state = "locked"
            return True
        return False


@case(*each("fib", [5, 10, 10, 12]))
class Memo:
    def __init__(self) -> None:
        self.cache, self.hits = {}, 0

    def fib(self, n: int) -> int:
        if n in self.cache:
            self.hits += 1
            return self.cache[n]
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        self.cache[n] = a
        return a


@dataclass
class Vec:
    x: float = 0.0
    y: float = 0.0

    def __add__(self, other: Any) -> Any:
        return Vec(self.x + other.x, self.y + other.y)

    def scaled(self, k: float) -> Any:
        return Vec(self.x * k, self.y * k)


@case(*each("step", [0.1, 0.1, 0.2, 0.1]))
class Body:
    def __init__(self) -> None:
        self.position, self.velocity, self.gravity = Vec(0.0, 10.0), Vec(1.0, 0.0), Vec(0.0, -9.8)

    def step(self, dt: float) -> float:
        self.velocity = self.velocity + self.gravity.scaled(dt)
        self.position = self.position + self.velocity.scaled(dt)
        if self.position.y < 0:
            self.position.y = -self.position.y
        return self.position.y


@case(*each("move", [0.1, 0.2, 0.3]))
class Swarm:
    def __init__(self) -> None:
        self.bodies = [Vec(float(k), 1.0) for k in range(5)]
        self.time = 0.0

    def move(self, dt: float) -> float:
        for body in self.bodies:
            body.x += dt * body.y
            body.y -= dt
        self.time += dt
        return sum(body.x for body in self.bodies)


@dataclass
class Stats:
    count: int = 0
    total: float = 0.0
    history: list[float] = field(default_factory=list)

    def add(self, value: float) -> Stats:
        self.count += 1
        self.total += value
        self.history.append(value)
        return self


CASES["Stats"] = (Stats, (), each("add"))


@case(*each("set", [20.0, 30.0, -300.0, 10.0]), ("warm",))
class Thermostat:
    __slots__ = ("_celsius", "changes")

    def __init__(self) -> None:
        self._celsius, self.changes = 0.0, 0

    @property
    def celsius(self) -> float:
        return self._celsius

    @celsius.setter
    def celsius(self, value: float) -> None:
        self._celsius = max(value, -273.15)
        self.changes += 1

    def set(self, value: float) -> float:
        self.celsius = value
        return self.celsius * 1.8 + 32

    def warm(self) -> float:
        self.celsius += 1.5
        return self.celsius


@case(*[("next",)] * 5)
class Lcg:
    def __init__(self) -> None:
        self.state = 42

    def next(self) -> float:
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state / 2147483648


@case(*[("step",)] * 4)
class Pendulum:
    gravity = 9.8
    steps = 0

    def __init__(self) -> None:
        self.state = (1.0, 0.0)

    def step(self) -> Any:
        angle, speed = self.state
        speed = speed - self.gravity * math.sin(angle) * 0.01
        self.state = (angle + speed * 0.01, speed)
        self.steps += 1
        return self.state


@case(*[("step",)] * 3, ("run", 4))
class Heat:
    def __init__(self) -> None:
        self.u, self.t = np.linspace(0.0, 1.0, 9) ** 2, 0.0
        self.view, self.same = self.u[1:-1], self.u

    def step(self) -> float:
        self.u[1:-1] += 0.1 * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])
        self.t += 0.01
        return self.view.sum()

    def run(self, steps: int) -> float:
        for _ in range(steps):
            self.step()
        return self.t


class Layer:
    def __init__(self, n: int, m: int) -> None:
        self.W, self.b, self.x = np.arange(n * m, dtype=float).reshape(n, m) / 10, np.zeros(n), None

    def forward(self, x: Any) -> Any:
        self.x = x
        return np.tanh(self.W @ x + self.b)

    def update(self, g: Any) -> None:
        self.W -= 0.1 * np.outer(g, self.x)
        self.b -= 0.1 * g


@case(*each("train", [np.ones(3), np.arange(3.0), -np.ones(3)]))
class Network:
    def __init__(self) -> None:
        self.layers = [Layer(4, 3), Layer(2, 4)]
        self.losses = []

    def train(self, x: Any) -> float:
        h = x
        for layer in self.layers:
            h = layer.forward(h)
        loss = float((h**2).sum())
        self.losses.append(loss)
        self.layers[1].update(2 * h * (1 - h * h))
        return loss


@case(*each("learn", [np.array([1.0, 2.0, -1.0]), np.array([-1.0, 0.5, 1.0]), np.array([2.0, 1.0, 1.0])]))
class Perceptron:
    def __init__(self) -> None:
        self.w, self.errors = np.zeros(2), 0

    def learn(self, row: Any) -> int:
        guess = 1.0 if self.w @ row[:2] > 0 else -1.0
        if guess != row[2]:
            self.w = self.w + row[2] * row[:2]
            self.errors += 1
        return self.errors


@case(*each("choose", [0.3, 0.9, 0.1, 0.5]))
class Bandit:
    def __init__(self) -> None:
        self.counts, self.values = np.zeros(3, int), np.zeros(3)

    def choose(self, reward: float) -> int:
        arm = int(np.argmax(self.values + 1 / (1 + self.counts)))
        self.counts[arm] += 1
        self.values[arm] += (reward - self.values[arm]) / self.counts[arm]
        return arm


@case(*each("learn", [(0, 1, 1.0, 2), (2, 0, 0.5, 1), (1, 1, -1.0, 0)]))
class QLearning:
    def __init__(self) -> None:
        self.q, self.alpha, self.gamma, self.episodes = np.zeros((3, 2)), 0.5, 0.9, 0

    def learn(self, transition: Any) -> float:
        s, a, r, after = transition
        target = r + self.gamma * np.max(self.q[after])
        self.q[s, a] += self.alpha * (target - self.q[s, a])
        self.alpha *= 0.99
        self.episodes += 1
        return self.q[s, a]


@case(("deposit", 5.0), ("withdraw", 2.0), ("withdraw", 100.0), ("deposit", 1.0))
class Purse:
    def __init__(self) -> None:
        self.balance, self.attempts = 0.0, 0

    def deposit(self, amount: float) -> float:
        self.balance += amount
        return self.balance

    def withdraw(self, amount: float) -> float:
        self.attempts += 1
        if amount > self.balance:
            raise ValueError("not enough")
        self.balance -= amount
        return self.balance


@case(*each("add", [3.0, 1.0, 2.0]), ("reset",), ("add", 4.0))
class Lazy:
    def __init__(self) -> None:
        self.values = []

    def add(self, value: float) -> float:
        if not hasattr(self, "best"):
            self.best = value
        self.best = max(self.best, value)
        self.values.append(value)
        self.latest = value
        return self.best

    def reset(self) -> None:
        del self.best
        self.values = []
        self.__dict__["resets"] = getattr(self, "resets", 0) + 1


@case(*each("tokens", ["a b", "b c", "a"]))
class WordCount:
    def __init__(self) -> None:
        self.counts, self.text = {}, ""

    def tokens(self, line: str) -> int:
        for word in line.split():
            self.counts[word] = self.counts.get(word, 0) + 1
        self.text += line
        return len(self.counts)


@case(*[("step",)] * 4)
class Grid:
    def __init__(self) -> None:
        self.cells = [[0, 1, 0], [0, 1, 0], [0, 1, 0]]
        self.rounds = 0

    def step(self) -> int:
        for row in range(3):
            for column in range(3):
                if self.cells[row][column] == 0:
                    self.cells[row][column] = row + column
        self.rounds += 1
        return self.rounds


class Node:
    def __init__(self, value: Any, after: Any) -> None:
        self.value, self.after = value, after


@case(*each("push", [1.0, 2.0, 3.0]), ("pop",), ("push", 4.0), ("pop",))
class LinkedStack:
    def __init__(self) -> None:
        self.head, self.size = None, 0

    def push(self, value: float) -> None:
        self.head = Node(value, self.head)
        self.size += 1

    def pop(self) -> float:
        top = self.head
        self.head = top.after
        self.size -= 1
        return top.value


@case(*each("step", [0.5, 1.0, 1.5]))
class Integrator:
    def __init__(self) -> None:
        self.y, self.t, self.trace = np.array([1.0, 0.0]), 0.0, []

    def slope(self, t: float, y: Any) -> Any:
        return np.array([y[1], -y[0]])

    def step(self, h: float) -> Any:
        k1 = self.slope(self.t, self.y)
        k2 = self.slope(self.t + h / 2, self.y + h / 2 * k1)
        k3 = self.slope(self.t + h / 2, self.y + h / 2 * k2)
        k4 = self.slope(self.t + h, self.y + h * k3)
        self.y = self.y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        self.t += h
        self.trace.append((self.t, self.y[0]))
        return self.y
