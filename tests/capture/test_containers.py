"""Every container, through every way of capturing: right in value, class, order of keys and settings, or refused.

The table is containers × what a program does with one × given as an argument or made inside × ways of capturing. What
a cell should give comes from the plain call; a cell that is refused has the words of the refusal in `refusal`.
"""

from __future__ import annotations

import dataclasses
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from weft import pytree
from weft.errors import CaptureError

Base = namedtuple("Base", "a b")


class Typed(NamedTuple):
    a: Any
    b: Any = 2.0


class Doubling(Base):
    """A named tuple whose constructor changes what it is given."""

    __slots__ = ()

    def __new__(cls, a: Any, b: Any) -> Doubling:
        return super().__new__(cls, 2 * a, b)


@dataclasses.dataclass
class Record:
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any


@dataclasses.dataclass
class Late:
    a: Any
    b: Any = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.b = self.a * 3.0


@dataclasses.dataclass
class Noted(Record):
    """A dataclass with an attribute that is no field."""

    def __post_init__(self) -> None:
        self.note = "kept"


class OwnDict(dict[str, Any]):
    pass


class OwnList(list[Any]):
    pass


class OwnTuple(tuple[Any, ...]):
    pass


class Registered:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


pytree.register(Registered, lambda pair: ([pair.a, pair.b], None), lambda _, parts: Registered(*parts))


def tagged(a: Any, b: Any) -> OwnDict:
    made = OwnDict(b=b, a=a)
    made.tag = "kept"  # type: ignore[attr-defined]  # what is tested
    return made


MAPPINGS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda a, b: {"b": b, "a": a},
    "OrderedDict": lambda a, b: OrderedDict(b=b, a=a),
    "defaultdict": lambda a, b: defaultdict(list, b=b, a=a),
    "Counter": lambda a, b: Counter({"b": b, "a": a}),
    "ChainMap": lambda a, b: ChainMap({"b": b}, {"a": a}),
    "MappingProxyType": lambda a, b: MappingProxyType({"b": b, "a": a}),
    "UserDict": lambda a, b: UserDict(b=b, a=a),
    "derived from dict": lambda a, b: OwnDict(b=b, a=a),
}
SEQUENCES: dict[str, Callable[[Any, Any], Any]] = {
    "list": lambda a, b: [a, b],
    "tuple": lambda a, b: (a, b),
    "deque": lambda a, b: deque([a, b], 3),
    "UserList": lambda a, b: UserList([a, b]),
    "derived from list": lambda a, b: OwnList([a, b]),
    "derived from tuple": lambda a, b: OwnTuple([a, b]),
}
RECORDS: dict[str, Callable[[Any, Any], Any]] = {
    "namedtuple": Base,
    "NamedTuple": Typed,
    "named tuple with a constructor": Doubling,
    "dataclass": Record,
    "frozen dataclass": Frozen,
    "dataclass with a late field": lambda a, b: Late(a),
    "dataclass with more": Noted,
    "registered": Registered,
}
CONTAINERS = {**MAPPINGS, **SEQUENCES, **RECORDS}
UNCHANGEABLE = ("MappingProxyType", "tuple", "derived from tuple", "namedtuple", "NamedTuple", "frozen dataclass")
X, Y = np.array([1.0, 2.0]), np.array([3.0, 4.0])


def shown(value: Any) -> str:
    """All that a person can see of a value: classes, keys in order, settings, dtypes."""
    parts = vars(value) if hasattr(value, "__dict__") and not isinstance(value, (np.ndarray, type)) else {}
    text = "".join(f" .{name}={shown(part)}" for name, part in sorted(parts.items()))
    if isinstance(value, (dict, MappingProxyType)):
        text += f" {getattr(value, 'default_factory', '')} {[(key, shown(part)) for key, part in value.items()]}"
    elif isinstance(value, (list, tuple, deque)):
        text += f" {getattr(value, 'maxlen', '')} {[*map(shown, value)]}"
    elif dataclasses.is_dataclass(value):
        text += f" {[(f.name, shown(getattr(value, f.name))) for f in dataclasses.fields(value)]}"
    elif not parts:
        text += f" {value!r} {getattr(value, 'dtype', '')}"
    return f"{type(value).__name__}{text}"


def outcome(function: Callable[..., Any], *args: Any) -> str:
    """What a call gives or raises, and what it leaves in its arguments."""
    try:
        found = shown(function(*args))
    except CaptureError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return f"{found} | {shown(args)}"


def items(kind: str) -> Callable[[Any], tuple[Any, Any]]:
    if kind in MAPPINGS:
        return lambda c: (c["a"], c["b"])
    return (lambda c: (c[0], c[1])) if kind in SEQUENCES else (lambda c: (c.a, c.b))


def reading(kind: str) -> Callable[[Any], Any]:
    if kind in MAPPINGS:
        return lambda c: (c["a"] * c["b"] + len(c), "a" in c, "z" in c, c.get("z", 1.0), bool(c))
    if kind in SEQUENCES:
        return lambda c: (c[0] * c[-1] + len(c), list(c), bool(c))
    return lambda c: (c.a * c.b, hasattr(c, "a"), getattr(c, "b"), type(c).__name__)  # noqa: B009  # what is tested


def iterating(kind: str) -> Callable[[Any], Any]:
    if kind in MAPPINGS:

        def over_keys(c):
            total = 0.0
            for key in c:
                for i in range(len(c[key])):
                    total = total + 2.0 * c[key][i]
            return total, [(key, value + 1) for key, value in c.items()], list(c.values()), sum(c.values())

        return over_keys
    if kind in SEQUENCES:

        def over_items(c):
            total = 0.0
            for value in c:
                for i in range(len(value)):
                    total = total + 2.0 * value[i]
            return total, [(k, value + 1) for k, value in enumerate(c)], sum(c), list(reversed(c))

        return over_items
    return lambda c: [value * 2 for value in (c.a, c.b)]


def changing(kind: str) -> Callable[[Any], Any]:
    if kind in MAPPINGS:

        def change_items(c):
            c["n"] = c["a"] * 3
            c["a"] = c["a"] + 1
            return c

        return change_items
    if kind in SEQUENCES:

        def change_elements(c):
            c.append(c[0])
            c[0] = c[1] * 3
            return c

        return change_elements

    def change_fields(c):
        c.a = c.a * 3
        return c

    return change_fields


def changing_in_a_branch(kind: str) -> Callable[[Any], Any]:
    if kind in MAPPINGS:

        def branch_on_items(c):
            if c["a"].sum() > 0:
                c["a"] = c["a"] + 1
            return c

        return branch_on_items
    if kind in SEQUENCES:

        def branch_on_elements(c):
            if c[0].sum() > 0:
                c[0] = c[0] + 1
            return c

        return branch_on_elements

    def branch_on_fields(c):
        if c.a.sum() > 0:
            c.a = c.a + 1
        return c

    return branch_on_fields


USES: dict[str, Callable[[str], Callable[[Any], Any]]] = {
    "returned": lambda kind: lambda c: c,
    "returned inside of others": lambda kind: lambda c: {"x": [c, (c,)]},
    "read": reading,
    "iterated": iterating,
    "changed": changing,
    "changed in a branch": changing_in_a_branch,
}
WAYS = ("compile", "compile twice", "script", "trace")


def captured(way: str, program: Callable[..., Any], args: Callable[[], Any]) -> Callable[..., Any]:
    if way == "script":
        return weft.script(program)
    if way == "trace":
        return weft.trace(program, *args())
    compiled = weft.compile(program)
    if way == "compile twice":
        compiled(*(pytree.map(lambda leaf: leaf + 1 if isinstance(leaf, np.ndarray) else leaf, arg) for arg in args()))
    return compiled


def refusal(kind: str, use: str, place: str, way: str) -> str | None:
    """What a refused cell says."""
    if way == "trace" and use == "changed in a branch":
        return "a branch on a traced value"
    if not use.startswith("changed") or kind in UNCHANGEABLE or kind.startswith("named tuple"):
        return None
    if way == "script" and place == "given":
        return None
    if place == "given":
        return "changes a " if way == "trace" else None
    native = ("deque", "UserList", "derived from list")
    return "made outside a branch or loop is changed inside it" if use != "changed" and kind in native else None


def cell(way: str, function: Callable[..., Any], args: Callable[[], Any]) -> str:
    """What comes of one cell of the table: all that is seen of a call, or the words of a refusal."""
    try:
        return outcome(captured(way, function, args), *args())
    except CaptureError as error:
        return error.message
    except Exception as error:  # what tracing raises, the plain call does
        return f"{type(error).__name__}: {error} | {shown(args())}"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers(kind: str, use: str) -> None:
    make, program = CONTAINERS[kind], USES[use](kind)
    given: dict[str, Any] = {
        "given": (program, lambda: (make(X.copy(), Y.copy()),)),
        "made": (lambda a, b: program(make(a, b)), lambda: (X.copy(), Y.copy())),
    }
    for place, (function, args) in given.items():
        expected = outcome(function, *args())
        for way in WAYS:
            said = refusal(kind, use, place, way)
            found = cell(way, function, args)
            if said is not None:
                assert said in found, f"{place}, {way}"
            else:
                assert found == expected, f"{place}, {way}"


@pytest.mark.parametrize("kind", CONTAINERS)
def test_derivatives_by_containers(kind: str) -> None:
    make, parts = CONTAINERS[kind], items(kind)
    given = make(X, Y)
    a, b = parts(given)

    def product(c):
        a, b = parts(c)
        return (a * a * b).sum()

    leaves, tree = pytree.flatten(given, is_leaf=lambda leaf: isinstance(leaf, np.ndarray))
    slopes = [
        (2 * a * b if leaf is a else a * a) if isinstance(leaf, np.ndarray) else None if leaf is None else leaf
        for leaf in leaves
    ]
    if any(isinstance(leaf, str) for leaf in leaves):  # no part of the derivative
        with pytest.raises(weft.errors.NotDifferentiable, match=r"no derivative by c\.note: it is 'kept'"):
            weft.grad(product)(given)
        return
    slope, value = tree.unflatten(slopes), product(given)
    along = (2 * a * b * a + a * a * b).sum()
    found = {
        "grad": (weft.grad(product)(given), slope),
        "grad in compile": (weft.compile(lambda c: weft.grad(product)(c))(given), slope),
        "value_and_grad": (weft.value_and_grad(product)(given), (value, slope)),
        "vjp": (weft.vjp(product, given)[1](1.0), (slope,)),
        "jvp": (weft.jvp(product, (given,), (given,)), (value, along)),
        "jacrev": (weft.jacrev(product)(given), slope),
        "jacfwd": (weft.jacfwd(product)(given), slope),
        "vmap": (weft.vmap(product)(given), np.array([product(tree.unflatten(row)) for row in zip(*leaves)])),  # noqa: B905  # of one length
    }
    for way, (got, expected) in found.items():
        assert shown(got) == shown(expected), way


@pytest.mark.parametrize("kind", CONTAINERS)
def test_derivatives_of_containers(kind: str) -> None:
    make = CONTAINERS[kind]

    def program(a, b):
        return make(a * 2, b * a)

    ones, nothing = np.ones(2), np.zeros(2)
    tangent = program(X, Y)
    leaves = pytree.leaves_of(tangent)
    by_a = weft.jvp(program, (X, Y), (ones, nothing))[1]
    got = [leaf for leaf in pytree.leaves_of(by_a) if isinstance(leaf, np.ndarray)]
    step = 2.0**-20  # a power of 2: the differences of what is linear in `a` are exact
    moved = [leaf for leaf in pytree.leaves_of(program(X + step, Y)) if isinstance(leaf, np.ndarray)]
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    for one, after, before in zip(got, moved, arrays, strict=True):
        assert np.array_equal(one, (after - before) / step)
    assert type(by_a) is type(tangent)
    assert shown(weft.vmap(program)(X, Y)) == shown(tangent)


OUTSIDE = {kind: make(X.copy(), Y.copy()) for kind, make in CONTAINERS.items()}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_from_outside(kind: str) -> None:
    parts, held = items(kind), OUTSIDE[kind]

    def program(x):
        a, b = parts(held)
        return x * a + b

    for captured_program in (weft.compile(program), weft.script(program), weft.trace(program, X)):
        assert np.array_equal(captured_program(X), program(X))
    assert np.array_equal(weft.grad(lambda x: program(x).sum())(X), parts(held)[0])


NESTED: dict[str, Callable[[Any, Any], Any]] = {
    "of each other": lambda a, b: OrderedDict(d=deque([Base(a, {"k": UserList([b])})], 2), c=Counter(n=a)),
    "of records": lambda a, b: Record(Typed(a, OwnList([b])), defaultdict(dict, k=Registered(a, (b,)))),
    "with attributes": lambda a, b: [tagged(a, b), ChainMap(tagged(b, a))],
    "without elements": lambda a, b: [OrderedDict(), deque(maxlen=2), Counter(), UserDict(), OwnTuple(), a, b],
}


@pytest.mark.parametrize("kind", NESTED)
def test_containers_in_containers(kind: str) -> None:
    make = NESTED[kind]
    given = make(X, Y)
    assert shown(weft.compile(lambda c: c)(given)) == shown(given)
    for way in (weft.compile(make), weft.script(make), weft.trace(make, X, Y)):
        assert shown(way(X, Y)) == shown(given)
    assert shown(weft.vmap(make)(X, Y)) == shown(given)


class Queue(deque[Any]):
    pass


class Chain(ChainMap[str, Any]):
    pass


class Users(UserDict[str, Any]):
    pass


class Defaults(defaultdict[str, Any]):
    pass


def with_tag(value: Any) -> Any:
    value.tag = 2.5
    return value


DERIVED: dict[str, Callable[[Any, Any], Any]] = {
    "derived from deque": lambda a, b: Queue([a, b], 3),
    "deque with a tag": lambda a, b: with_tag(Queue([a, b], 3)),
    "derived from ChainMap": lambda a, b: Chain({"b": b}, {"a": a}),
    "UserDict with a tag": lambda a, b: with_tag(Users(b=b, a=a)),
    "defaultdict with a tag": lambda a, b: with_tag(Defaults(list, b=b, a=a)),
    "dict with a tag": lambda a, b: with_tag(OwnDict(b=b, a=a)),
    "list with a tag": lambda a, b: with_tag(OwnList([a, b])),
    "tuple with a tag": lambda a, b: with_tag(OwnTuple([a, b])),
}


@pytest.mark.parametrize("kind", [*CONTAINERS, *DERIVED])
def test_containers_are_saved(kind: str, tmp_path: Any) -> None:
    make = {**CONTAINERS, **DERIVED}[kind]
    traced = weft.trace(lambda c: [c, c], make(X, Y))
    traced.save(tmp_path / "graph")
    loaded = weft.load(tmp_path / "graph", allow=[type(make(X, Y))])
    assert shown(loaded(make(Y, X))) == shown([make(Y, X)] * 2)


def test_each_call_makes_its_own() -> None:
    """Containers that are equal are two all the same: changing one leaves the other as it is."""
    for make in (MAPPINGS["OrderedDict"], SEQUENCES["deque"], RECORDS["registered"]):
        one, other = weft.compile(lambda a, b, make=make: (make(a, b), make(a, b)))(X, Y)
        assert one is not other


class Plain:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


@pytest.mark.parametrize("make", [Plain, lambda a, b: SimpleNamespace(a=a, b=b)])
def test_other_objects_are_refused_by_class(make: Any) -> None:
    with pytest.raises(CaptureError, match="vmap: a result of which only running tells what it is"):
        weft.vmap(lambda a, b: Plain(a, b))(X, Y)
    ways = [lambda f: lambda a, b: weft.script(f), lambda f: lambda a, b: weft.trace(f, a, b)]
    for way in ways:
        with pytest.raises(CaptureError, match="cannot be an argument or a result in a graph") as caught:
            way(lambda a, b: make(a, b))(X, Y)
        assert "weft.pytree.register" in str(caught.value.help)
    given = make(X, Y)
    for derivative in (weft.grad, weft.value_and_grad, weft.jacrev, weft.jacfwd, weft.hessian):
        with pytest.raises(weft.errors.NotDifferentiable, match=r"an object of class (Plain|SimpleNamespace)"):
            derivative(lambda c: (c.a * c.b).sum())(given)
    assert np.array_equal(weft.compile(lambda c: c.a * c.b)(given), X * Y)


def test_a_compiled_function_gives_objects_of_the_program() -> None:
    compiled = weft.compile(lambda a, b: Plain(a * 2, b))
    one, other = compiled(X, Y), compiled(X, Y)
    assert type(one) is Plain
    assert one is not other
    assert np.array_equal(one.a, X * 2)
    assert one.b is Y


class Items(dict[str, Any]):
    """A dict whose items are its attributes as well."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__dict__ = self


def _made_with_items(x: Any) -> Any:
    settings = Items(a=x * 2, n=len(x))
    settings.b = settings.a + settings["n"]
    settings["c"] = settings.b.sum()
    del settings.n
    return settings.c + settings.a, settings


def _changes_items(settings: Any, x: Any) -> Any:
    settings.b = settings.a * x
    settings.a = settings["b"] + 1
    return settings.a.sum()


@pytest.mark.parametrize("capturing", [weft.compile, weft.script, lambda f: weft.trace(f, np.ones(2))])
def test_a_dict_whose_attributes_are_its_items(capturing: Any) -> None:
    (got, settings), (wanted, kept) = capturing(_made_with_items)(np.ones(2)), _made_with_items(np.ones(2))
    np.testing.assert_array_equal(got, wanted)
    assert list(settings) == list(kept) == ["a", "b", "c"]
    settings.late = 5
    assert (type(settings), vars(settings) is settings, settings["late"]) == (Items, True, 5)


def test_attributes_that_are_items_are_changed_in_arguments() -> None:
    compiled, given, plain = weft.compile(_changes_items), Items(a=np.ones(2)), Items(a=np.ones(2))
    for x in (2.0, 3.0):
        assert compiled(given, x) == _changes_items(plain, x)
        assert list(given) == list(plain) == ["a", "b"]
        np.testing.assert_array_equal(given.a, plain.a)
        np.testing.assert_array_equal(given["b"], plain["b"])


class Hidden(tuple[Any, ...]):
    """A tuple with names, whose `__dict__` is what the class says."""

    def __new__(cls, values: Any, names: Any = ()) -> Hidden:
        return tuple.__new__(cls, values)

    def __init__(self, values: Any, names: Any = ()) -> None:
        self.names = list(names)

    __dict__ = property(lambda self: dict(zip(self.names, self, strict=True)))  # type: ignore[assignment]  # as found


@pytest.mark.parametrize("capturing", [weft.compile, weft.script, lambda f: weft.trace(f, np.ones(2))])
def test_attributes_that_a_class_hides_come_back(capturing: Any) -> None:
    made = capturing(lambda x: Hidden((x * 2, x.sum()), ("twice", "total")))(np.ones(2))
    assert (type(made), made.names, made[1]) == (Hidden, ["twice", "total"], 2.0)
    assert made.__dict__["total"] == 2.0


def views_of_a_dict(x: Any, k: Any) -> Any:
    found = {"a": x.sum(), "b": x.max()}
    return k in found.values(), ("a", k) in found.items(), k not in found.keys(), "b" in found.keys()  # noqa: SIM118


def tuples_in_containers(x: Any, k: Any) -> Any:
    return ("a", k) in [("a", 1.0), ("b", x[1])], (x[0], 2) in {(1.0, 2), 3}, [k] in [[x[2]], 1]


@pytest.mark.parametrize("program", [views_of_a_dict, tuples_in_containers])
def test_views_and_tuples_are_asked_for_traced_values(program: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for captured in (weft.compile(program), weft.script(program)):
        for k in (1.0, 3.0, 6.0):
            assert captured(x, k) == program(x, k)
