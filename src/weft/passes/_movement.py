"""Rules of shape, order and dtype, of reading and of writing parts. They move elements and change none."""

from __future__ import annotations

import operator
from typing import Any

from weft.graph import Node
from weft.ops._dim import same_shape
from weft.ops._op import TABLE, op_of
from weft.ops._spec import Spec
from weft.passes._keys import same
from weft.passes._rules import Call, Instead, call_of, interchangeable, kept, rule, type_of
from weft.passes._sharing import is_number
from weft.passes._sweep import MISSING, item_of_container

_IN_ORDER = ("reshape", "squeeze", "expand_dims", "flatten")  # not ravel, which may copy where these do not
_UPDATE = TABLE["index_update"]
_CHAIN = 64  # how many nodes to look at before giving up
_STEPS = 8  # how far back to look for the shape that a chain of reshapes comes back to


@rule("same type", "astype", "broadcast_to")
def _same_type(call: Call) -> Any:
    """astype to the dtype that x has, and broadcast_to the shape that it has, are x.

    A copy in an order is meant; and so is one that is written somewhere, which may be where x is.
    """
    ordered = call.op.name == "astype" and call.args[-1] != "K"
    written = any(op_of(user.target) is _UPDATE for user in call.node.users)
    return MISSING if ordered or written else kept(call, call.args[0])


@rule("spread anyway", "add", "subtract", "multiply", "divide", "maximum", "minimum", "where")
def _spread_anyway(call: Call) -> Any:
    """x + broadcast_to(y, s) is x + y where x has the shape s; of a y that was one number, it is x plus that number."""
    spread = [call_of(arg, "broadcast_to") for arg in call.args]
    if not any(spread):
        return MISSING
    args, result = list(call.args), type_of(call.node)
    shapes = [found.shape if isinstance(found := type_of(arg), Spec) else () for arg in args]
    if not isinstance(result, Spec) or not result.shape or type_of(args[-1]) is None:
        return MISSING
    for k, inner in enumerate(spread):
        others = (shape for j, shape in enumerate(shapes) if j != k)
        if inner is None or not any(same_shape(shape, result.shape) for shape in others):
            continue
        x = inner.args[0]
        before = call_of(x, "reshape")
        single = before is not None and getattr(type_of(before.args[0]), "shape", None) == ()
        args[k] = before.args[0] if before is not None and single else x
        shapes[k] = ()
    return MISSING if args == list(call.args) else Instead(call.op, tuple(args), {})


@rule("same shape again", *_IN_ORDER)
def _same_shape_again(call: Call) -> Any:
    """Reshaping, squeezing and expanding keep the order of the elements: with the old shape they are the old array."""
    inner: Call | None = call
    for _ in range(_STEPS):
        if inner is None or _copies(inner):
            break
        x = inner.args[0]
        if interchangeable(call.node, x):
            return x
        inner = call_of(x, *_IN_ORDER)
    return MISSING


@rule("reshape of reshape", "reshape")
def _reshape_of_reshape(call: Call) -> Any:
    """reshape(reshape(x, s), t) is reshape(x, t), and likewise where x was squeezed or expanded first."""
    inner = call_of(call.args[0], *_IN_ORDER)
    if inner is None or _copies(call) or _copies(inner) or not isinstance(type_of(inner.args[0]), Spec):
        return MISSING
    return Instead(TABLE["reshape"], (inner.args[0], call.args[1]), {}, shares=inner.args[0])


def _copies(call: Call) -> bool:
    """Whether a reshape says that it copies, or that it must not."""
    return call.op.name == "reshape" and call.args[2] is not None


@rule("transposed back", "permute_dims")
def _transposed_back(call: Call) -> Any:
    """A transposition into the order there is is x; two in a row are one."""
    x, axes = call.args
    order = _order(x, axes)
    if order is None:
        return MISSING
    inner = call_of(x, "permute_dims")
    first = _order(inner.args[0], inner.args[1]) if inner else None
    if inner is not None and first is not None:
        x, order = inner.args[0], [first[axis] for axis in order]
    if order == list(range(len(order))):
        return kept(call, x)
    return Instead(call.op, (x, tuple(order)), {}, shares=x) if first is not None else MISSING


def _order(x: Any, axes: Any) -> list[int] | None:
    """The axes of a transposition counted from the front; None where they are not all known."""
    found = type_of(x)
    if not isinstance(found, Spec):
        return None
    count = len(found.shape)
    given = range(count)[::-1] if axes is None else axes
    if not isinstance(given, (tuple, list, range)) or not all(type(axis) is int for axis in given):
        return None
    order = [axis % count for axis in given] if count else []
    return order if sorted(order) == list(range(count)) else None


@rule("exchanged back", "matrix_transpose", "swapaxes")
def _exchanged_back(call: Call) -> Any:
    """Exchanging the same two axes twice leaves x."""
    inner = call_of(call.args[0], call.op.name)
    return kept(call, inner.args[0]) if inner and same(inner.args[1:], call.args[1:]) else MISSING


@rule("one part", "concat")
def _one_part(call: Call) -> Any:
    """Joining a single array along an axis leaves it as it is."""
    arrays = call.args[0]
    return kept(call, arrays[0]) if isinstance(arrays, (list, tuple)) and len(arrays) == 1 else MISSING


# Reading and writing parts


@rule("item of a tuple", "getitem")
def _item_of_a_tuple(call: Call) -> Any:
    """(a, b)[0] is a: an item of a tuple, list or dict that stands in the graph."""
    return item_of_container(call.node)


@rule("read in full", "getitem")
def _read_in_full(call: Call) -> Any:
    """x[...], x[:] and x[0:n] are x: slices from the start, forwards, that leave the shape as it is.

    Keys without dimensions make numbers of arrays, or arrays of numbers, and are left alone.
    """
    x, key = call.args
    parts = key if isinstance(key, tuple) else (key,)
    return kept(call, x) if isinstance(type_of(x), Spec) and parts and all(map(_from_the_start, parts)) else MISSING


def _from_the_start(part: Any) -> bool:
    if not isinstance(part, slice):
        return part is Ellipsis
    start = part.start is None or (type(part.start) is int and part.start == 0)
    return start and (part.step is None or (type(part.step) is int and part.step == 1))


@rule("read after write", "getitem")
def _read_after_write(call: Call) -> Any:
    """x[k] right after x[k] = v is v, if v has that very type and the key names no element twice."""
    update = call_of(call.args[0], "index_update")
    if update is None or not same(update.args[1], call.args[1]) or not names_once(call.args[1]):
        return MISSING
    value = update.args[2]
    if interchangeable(call.node, value):
        return value
    whole, part = type_of(update.args[0]), type_of(value)
    key = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    one = isinstance(whole, Spec) and len(key) == len(whole.shape) > 0 and all(map(_is_integer, key))
    fits = isinstance(part, Spec) and part == type_of(call.node) and is_number(value)
    # An element read by integers is a number, and so is what was written, of the type that its shape rule says.
    return value if one and fits and _is_certain(value) else MISSING


def _is_certain(value: Any) -> bool:
    """Whether a number has the type that is noted of it in the first turn of a loop, too.

    A loop may start from a number of Python's, which takes the type of what it meets, and go on with one of NumPy's,
    which does not: where single and double precision meet, that makes a difference.
    """
    seen: set[Node] = set()
    kinds: set[Any] = set()
    waiting = [value] if isinstance(value, Node) else []
    while waiting and len(seen) < _CHAIN:
        node = waiting.pop()
        found = type_of(node)
        if isinstance(found, Spec) and found.dtype.kind in "fc":
            kinds.add(found.dtype)
        if node not in seen:
            seen.add(node)
            waiting.extend(() if _reads_an_element(node) else node.all_input_nodes)
    return not waiting and len(kinds) <= 1


def _reads_an_element(node: Node) -> bool:
    return node.op == "call_function" and node.target in (operator.getitem, TABLE["getitem"])


def names_once(key: Any) -> bool:
    """Whether a key is for certain free of arrays of integers, which may name an element twice."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(part is None or part is Ellipsis or isinstance(part, slice) or _is_integer(part) for part in parts)


def _is_integer(part: Any) -> bool:
    if isinstance(part, Node):
        found = type_of(part)
        return found is int or (
            isinstance(found, Spec) and found.shape == () and found.dtype.kind in "iu" and is_number(part)
        )
    return type(part) is int


@rule("written as it was", "index_update")
def _written_as_it_was(call: Call) -> Any:
    """x[k] = x[k] leaves x as it was."""
    x, key, value = call.args
    read = call_of(value, "getitem")
    return kept(call, x) if read and read.args[0] is x and same(read.args[1], key) else MISSING


@rule("written twice", "index_update")
def _written_twice(call: Call) -> Any:
    """Of x[k] = a and x[k] = b in a row the second stays, if nothing reads the array in between."""
    x, key, value = call.args
    first = call_of(x, "index_update")
    if first is None or len(first.node.users) > 1 or not same(first.args[1], key):
        return MISSING
    return Instead(call.op, (first.args[0], key, value), {})
