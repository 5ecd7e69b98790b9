"""Special methods of the program's classes are captured: what they decide, read and change is as in the plain call."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError


class V:
    """Counts what Python asks of it, and goes by what it holds."""

    def __init__(self, a):
        self.a, self.n = a, 0

    def __add__(self, o):
        self.n += 1
        return V(self.a + (o.a if isinstance(o, V) else o))

    def __radd__(self, o):
        self.n += 100
        return V(self.a + o)

    def __iadd__(self, o):
        self.n += 10
        self.a = self.a + o
        return self

    def __neg__(self):
        self.n += 1000
        return V(-self.a if self.a[0] > 0 else self.a)

    def __matmul__(self, o):
        self.n += 1
        return self.a @ o

    def __abs__(self):
        self.n += 1
        return V(np.abs(self.a))

    def __getitem__(self, k):
        self.n += 1
        if self.a[0] > 0:
            return self.a[k]
        return -self.a[k]

    def __setitem__(self, k, v):
        self.a = self.a.copy()
        self.a[k] = v
        self.n += 5

    def __delitem__(self, k):
        self.n += 1
        self.a = self.a * k

    def __len__(self):
        self.n += 1
        return len(self.a)

    def __contains__(self, k):
        self.n += 1
        return (self.a == k).any()

    def __eq__(self, o):
        self.n += 1
        return bool((self.a == o.a).all())

    def __lt__(self, o):
        self.n += 1
        return bool((self.a < o.a).all())

    def __hash__(self):
        self.n += 1
        return hash((float(self.a[0]), "V"))

    def __bool__(self):
        self.n += 1
        return bool(self.a[0] > 0)

    def __float__(self):
        self.n += 1
        return float(self.a[0])

    def __call__(self, x):
        self.n += 1
        return self.a + x

    def __iter__(self):
        self.n += 1
        return iter(list(self.a))

    def __array__(self, dtype=None, copy=None):
        self.n += 1
        return np.asarray(self.a, dtype)

    def __str__(self):
        self.n += 1
        return f"V{self.a[0]}"

    def __format__(self, spec):
        self.n += 1
        return format(self.a[0], spec)

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *raised):
        self.n += 1

    def __getattr__(self, name):
        if name == "extra":
            self.n += 1
            return self.a * 3
        raise AttributeError(name)


def sets_an_item(v, x):
    v[0] = x[1]
    return v.a + x


def adds_to_it(v, x):
    v += x
    return v.a


def deletes_an_item(v, x):
    del v[2]
    return v.a


def enters(v, x):
    with v:
        return v.a + x


def loops(v, x):
    t = 0
    for e in v:
        t = t + e
    return t + x


def unpacks(v, x):
    a, b, c = v
    return a * b + c + x


def branches_on_it(v, x):
    if v:
        return x + 1
    return x - 1


def branches_on_a_comparison(v, x):
    if v == V(x):
        return x + 1
    return x * 2


class Sum:
    """Multiplies in its own way."""

    __array_ufunc__ = None

    def __rmatmul__(self, other):
        return other.sum()


PROGRAMS: dict[str, Callable[..., Any]] = {
    "add": lambda v, x: (v + x).a,
    "radd": lambda v, x: (x[0].item() + v).a,
    "neg": lambda v, x: (-v).a,
    "matmul": lambda v, x: v @ x,
    "an operator left to the class": lambda v, x: x @ Sum(),
    "abs": lambda v, x: abs(v).a + x,
    "item": lambda v, x: v[1] + x,
    "len": lambda v, x: len(v) + x,
    "in": lambda v, x: (2.0 in v, x + 1),
    "not in": lambda v, x: (9.0 not in v, x + 1),
    "eq": lambda v, x: (v == V(x), x + 1),
    "lt": lambda v, x: (v < V(x), x + 1),
    "bool": lambda v, x: x + 1 if v else x - 1,
    "not": lambda v, x: (not v, x + 1),
    "truth": lambda v, x: (bool(v), x + 1),
    "float": lambda v, x: float(v) + x,
    "call": lambda v, x: v(x),
    "iter": lambda v, x: sum([e * 1 for e in v]) + x,
    "zip": lambda v, x: [a * b for a, b in zip(v, x, strict=True)],
    "max": lambda v, x: max(v) + x,
    "asarray": lambda v, x: np.asarray(v) + x,
    "asarray of a dtype": lambda v, x: np.asarray(v, dtype=np.float32) + x,
    "np.sum": lambda v, x: np.sum(v) + x,
    "in a list": lambda v, x: np.array([v, x]),
    "str": lambda v, x: (str(v), x + 1),
    "format": lambda v, x: (f"{v:.2f}", x + 1),
    "hash": lambda v, x: (hash(v), hash(("a", (v, 1.5))), x + 1),
    "getattr": lambda v, x: v.extra + x,
    **{
        program.__name__: program
        for program in (
            *(sets_an_item, adds_to_it, deletes_an_item, enters, loops, unpacks),
            *(branches_on_it, branches_on_a_comparison),
        )
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_the_plain_call(name: str) -> None:
    """The same object call after call, and what it holds changes from outside as well."""
    program = PROGRAMS[name]
    compiled, given = weft.compile(program), np.array([3.0, 2.0, 1.0])
    held, plain = V(given), V(given.copy())
    x = np.array([1.0, 2.0, 3.0])
    for turn in range(5):
        if turn == 3:
            for one in (held, plain):
                one.a = -one.a
        got, expected = compiled(held, x.copy()), program(plain, x.copy())
        assert repr((got, held.n, held.a)) == repr((expected, plain.n, plain.a)), turn
    assert not compiled._ran_plainly


class Checked:
    """Goes by what it is given, in a property."""

    def __init__(self, a):
        self.n, self.a = 0, a

    @property
    def a(self):
        self.n += 1
        return self._a

    @a.setter
    def a(self, v):
        self.n += 10
        if v.sum() > 100:
            v = v / 10
        self._a = np.asarray(v, dtype=float)

    @a.deleter
    def a(self):
        self.n += 100
        self._a = None


class Field:
    """A descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, owner, kind=None):
        return self if owner is None else owner.__dict__[self.name]

    def __set__(self, owner, v):
        owner.__dict__[self.name] = -v if v < 0 else v
        owner.n += 1


class Described:
    d = Field()

    def __init__(self, d):
        self.n = 0
        self.d = d


class Tame:
    """Assigns in its own way."""

    def __init__(self, v):
        self.v = v

    def __setattr__(self, name, value):
        if np.sum(value) > 100:
            value = value / 10
        super().__setattr__(name, value)


class Both(Checked):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)


class Doubling(list):
    def __getitem__(self, k):
        return list.__getitem__(self, k) * 2


class Filling(dict):
    def __missing__(self, k):
        self[k] = k * 2.0
        return self[k]


def assigned_to_one_made(_, x):
    made = Checked(x)
    return made.a + made.n, made.n


def assigned(o, x):
    o.a = x
    return o.a * 2


def assigned_by_name(o, x):
    setattr(o, "a", x)  # noqa: B010  # what is tested
    return getattr(o, "a")  # noqa: B009  # the same


def deleted(o, x):
    del o.a
    return x


def described(o, x):
    o.d = x[0]
    return o.d, o.n


def described_and_made(_, x):
    made = Described(x[0])
    made.d = x[1]
    return made.d, made.n


def tamed(o, x):
    o.w = x * 2
    return o.v + o.w


def tamed_and_made(_, x):
    made = Tame(x)
    made.w = x * 2
    return made.v + made.w


def through_both(o, x):
    o.a = o.a + x
    return o.a, o.n


def first(o, x):
    return o[0] + x


def third(o, x):
    return o[3] + x


A = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("program", "make"),
    [
        *((program, lambda: Checked(A)) for program in (assigned_to_one_made, assigned, assigned_by_name, deleted)),
        *((program, lambda: Described(3.0)) for program in (described, described_and_made)),
        *((program, lambda: Tame(A)) for program in (tamed, tamed_and_made)),
        (through_both, lambda: Both(A)),
        (first, lambda: Doubling([1.0, 2.0])),
        (third, Filling),
    ],
)
def test_what_a_class_does_with_its_attributes(program: Callable[..., Any], make: Callable[[], Any]) -> None:
    compiled, held, plain = weft.compile(program), make(), make()
    for factor in (1, -1, 100, 1):
        got, expected = compiled(held, A * factor), program(plain, A * factor)
        assert repr((got, vars(held), list(held) if isinstance(held, dict) else 0)) == repr(
            (expected, vars(plain), list(plain) if isinstance(plain, dict) else 0)
        )
    assert not compiled._ran_plainly


class Items:
    """Gives its items one by one."""

    def __init__(self, a):
        self.a, self.n = a, 0

    def __iter__(self):
        self.n += 1
        for k in range(len(self.a)):
            yield self.a[k] * 2


class Folded(MutableMapping):
    """Takes keys in any case; what it does not say itself is the standard library's."""

    def __init__(self):
        self.held = {}

    def __getitem__(self, k):
        return self.held[k.lower()]

    def __setitem__(self, k, v):
        self.held[k.lower()] = v

    def __delitem__(self, k):
        del self.held[k.lower()]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


def items_of(v, x):
    t = x * 0
    for e in v:
        t = t + e
    return t, list(v), sum(v), [a * b for a, b in zip(v, x, strict=True)]


def folds(_, x):
    made = Folded()
    made["Q"] = x
    made.update({"R": x + 1})
    made.setdefault("s", 3)
    del made["S"]
    return made["q"] + made["r"], list(made), "Z" in made, made.get("r"), len(made)


@pytest.mark.parametrize("program", [items_of, folds])
def test_iteration_and_mappings(program: Callable[..., Any]) -> None:
    compiled, held, plain = weft.compile(program), Items(A), Items(A)
    for factor in (1, 2, 3):
        assert repr((compiled(held, A * factor), held.n)) == repr((program(plain, A * factor), plain.n))
    assert compiled.cache_info().misses == 1


def copied(o, x):
    made = copy.deepcopy(o)
    made.a = made.a + x
    made.held.append(5)
    return made.a, made.held, o.held, copy.copy(o).held is o.held


def returned(o, x):
    made = copy.deepcopy(o)
    made.a = made.a * x
    return made


class Plain:
    def __init__(self, a):
        self.a, self.held, self.name = a, [1, a * 2], "x"


class Own(Plain):
    def __deepcopy__(self, memo):
        return Own(self.a * 2)

    def __copy__(self):
        return self


class Slots:
    __slots__ = ("a",)


@pytest.mark.parametrize("make", [Plain, Own])
@pytest.mark.parametrize("program", [copied, returned])
def test_copies_of_objects_from_outside(program: Callable[..., Any], make: Any) -> None:
    compiled, held, plain = weft.compile(program), make(A.copy()), make(A.copy())
    for turn in range(4):
        for one in (held, plain):
            one.a = one.a * (turn + 1)
            one.held[1] = one.held[1] * turn
        got, expected = compiled(held, A), program(plain, A)
        shown = [(vars(one) if isinstance(one, Plain) else one) for one in (got, expected)]
        assert repr((shown[0], vars(held))) == repr((shown[1], vars(plain)))
    assert not compiled._ran_plainly


def test_an_object_that_is_copied_once_is_refused() -> None:
    made = Slots()
    made.a = 1.0
    with pytest.raises(CaptureError, match=r"copy\.deepcopy of a Slots"):
        weft.compile(lambda o, x: copy.deepcopy(o).a + x)(made, A)


def test_the_classes_are_as_before() -> None:
    before = dict(vars(V))
    weft.compile(PROGRAMS["add"])(V(A), A)
    with pytest.raises(CaptureError):
        weft.trace(lambda v, x: x + 1 if v == V(x) else x, V(A), A)
    assert dict(vars(V)) == before


def test_another_thread_meanwhile() -> None:
    """While one thread captures, objects of the class do in another what they always do."""
    seen: list[Any] = []
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            seen.append(type((V(A) + 1).a))

    thread = threading.Thread(target=use)
    thread.start()
    try:
        for _ in range(20):
            assert weft.compile(PROGRAMS["add"])(V(A), A).tolist() == (A + A).tolist()
    finally:
        stop.set()
        thread.join()
    assert set(seen) == {np.ndarray}


def remembered(cache, a, b):
    key = hash(("q", (a, b)))
    if key not in cache:
        cache[key] = np.arange(a, b)
    return cache[key].copy()


def of_bytes(x):
    return hash(x.tobytes()) % 1000 + x, len(x.tobytes())


def test_hashes_of_what_only_running_tells() -> None:
    compiled, cache, plain = weft.compile(remembered), {}, {}
    for a, b in [(1, 4), (2, 5), (1, 4)]:
        assert compiled(cache, a, b).tolist() == remembered(plain, a, b).tolist()
        assert cache.keys() == plain.keys()
    bytes_of = weft.compile(of_bytes)
    for x in (A, A * 2, A[::-1]):
        assert repr(bytes_of(copy.copy(x))) == repr(of_bytes(x))
    with pytest.raises(TypeError, match="unhashable type: 'numpy"):
        weft.compile(lambda x: hash(x))(A)
