"""`Recorder`: turns what happens to traced values into typed nodes, in the region now being written."""

from __future__ import annotations

import enum
import operator
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, NoReturn

import numpy as np

from weft import _where, pytree
from weft._recursion import plain_limit
from weft.autograd import Tensor
from weft.capture._again import Remembered
from weft.capture._budget import Allowance
from weft.capture._cells import Places
from weft.capture._changes import holds_traced
from weft.capture._chosen import Joined, given_joined
from weft.capture._generators import Generated
from weft.capture._given_functions import GivenFunctions
from weft.capture._iterables import Collected, Items, RangeItems
from weft.capture._kinds import REPRESENTATIVES
from weft.capture._layouts import Alike, layout_of
from weft.capture._libraries import Libraries
from weft.capture._lists import GrownList, Lists
from weft.capture._lookups import settle_keys
from weft.capture._memory import Memory, is_tensor
from weft.capture._merge import refuse_mixed
from weft.capture._once import take
from weft.capture._opaque import NUMERIC, Opaque, is_opaque, is_traceable
from weft.capture._own_operators import refuse_changing
from weft.capture._present import missing_last
from weft.capture._raising import Caught, asks_unknown, is_quiet, may_raise, may_raise_unseen, raised_by
from weft.capture._reads import OuterReads
from weft.capture._refusals import Refusals
from weft.capture._region import Buffer, Region
from weft.capture._running import Running
from weft.capture._sizes import INTEGER_ARITHMETIC
from weft.capture._stand_ins import StandIns
from weft.capture._state import State
from weft.capture._state_places import KEEPING
from weft.capture._steps import Training
from weft.capture._touched import Touched
from weft.capture._unsettled import operands
from weft.capture._values import Array, Scalar, Traced, Undefined
from weft.capture._views import PARTS, VIEWS, arrays_in
from weft.errors import DtypeError, IndexingError, ShapeError
from weft.graph import Graph, GraphModule, Node
from weft.graph._arguments import container, in_structure
from weft.graph._control import check
from weft.graph._effects import _WRITING_METHODS
from weft.ops import Op, Spec
from weft.ops._dim import Dim, Sizes, fits_a_hint, hint_of, unknown_sizes
from weft.ops._op import ANY_ORDER, ORDER_KEPT, op_of
from weft.ops._raises import OF_VALUES
from weft.random import Generator

_RELATIONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.gt: ">",
    operator.ge: ">=",
}
_OF_COMPLEX = frozenset(
    {operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.eq, operator.ne}
)
_STEEP = frozenset({operator.pow, operator.lshift})  # they make numbers of so many bits that it takes long
_MOST_BITS = 1 << 14
_CONSTANTS = (int, float, complex, str, bytes, type(None), type(...), type, np.generic, np.dtype, range, enum.Enum)
_KEPT = (*_CONSTANTS, Op, Spec, Generator, Graph, Node)
_AS_IT_IS = frozenset({bool, int, float, complex, str, type(None), Node})
_COUNTS = frozenset({"bins", "repeats"})  # parameters that are an array, or a number that decides sizes
_SIZES = frozenset({"shape", "dims"})  # parameters that are sizes
_NAME_AXES = "name the dimensions to leave out, axis=..."
_COUNTING = frozenset({"repeat", "repeat_interleave", "histogram", "histogram_bin_edges", "histogram2d", "histogramdd"})
# What no number of Python's can be combined with, though it may be compared; NumPy makes arrays of some of them.
_REPEATED = frozenset({str, bytes, bytearray, list, tuple, deque})
_READING = frozenset({"count", "index", "get", "__getitem__", "__contains__"})  # methods that only read
_NO_NUMBERS = _REPEATED | {dict, OrderedDict, defaultdict, Counter, set, frozenset, range, slice, type(None), type(...)}
_OPERANDS = frozenset({Array, Scalar, int, float, complex, np.float64})


class Recorder(Running, Memory, Refusals):
    """Records one capture. `branches` says whether control flow on traced values is captured, or refused."""

    itself: Any = None  # the function whose graph this is going to be
    errors_before: Any = None  # what `np.seterr` had set before the program called it

    def __init__(self, *, branches: bool, boundary: FrameType | None = None) -> None:
        from weft.capture._numpy_calls import NumpyCalls
        from weft.capture._python_calls import PythonCalls

        self.root = self.region = Region()
        self.sizes, self.named = Sizes(), set[Node]()  # nodes that have the name of a variable of the program
        self.allowance = Allowance(None)  # how much more may be recorded
        self.branches, self.boundary = branches, boundary
        self.keeps_raising = False  # whether calls that may raise stay where nothing reads what they give
        self.unordered: dict[int, Any] = {}  # by id, dicts of which only running tells the order of the keys
        self.joins = False  # whether a branch or a loop may leave a variable with values of different types
        self.untyped = False  # whether all values are of unknown type, as in a script
        self.numpy, self.python = NumpyCalls(self), PythonCalls(self)
        self.training, self.state = Training(self), State(self)
        self.stand_ins, self.touched = StandIns(self), Touched(self)
        self.constants: dict[int, tuple[Any, Any]] = {}  # id → an array the program closes over, the value for it
        self.copied_inputs: dict[Node, Node] = {}  # input of a copy of the graph → the graph's own
        self.computed: dict[Node, tuple[Any, ...]] = {}
        self.value_guards: dict[Node, tuple[Any, Any]] = {}  # node of a number that decided something → what it was
        self.no_grad = False  # whether the program is inside of `with weft.no_grad()`
        self.deriving = 0  # how many functions it is inside of that are differentiated
        self.asked: list[tuple[Any, Any]] = []  # what was answered to questions about types: where, and the answer
        self.asked_identity = False  # whether the program asked if two arrays are one and the same
        self.tensors = False  # whether any value is a Tensor
        self.custom = False  # whether a function with a derivative rule of its own was called
        self.opened: set[Any] = set()  # such functions that are being captured themselves
        self.result: tuple[Any, Any, Any] = ([], [], None)  # what the program returned: values, nodes, structure
        self.layouts: set[str] = set()  # inputs whose order in memory mattered
        self.active: list[Any] = []  # functions of the program that are running
        self.deepest = plain_limit() - _frames(boundary)  # as many of them as Python would allow
        self.checkpoints = 0  # how many calls of `checkpoint` there were
        self.unrolling = 1  # how many copies the loops now written out make of what is inside
        self.collected: list[Any] = []  # generators that have run at once
        self.python_effects = 0  # how often objects of Python's were changed
        self.changed: list[int] = []  # ids of those that were, in order
        self.trying: Caught = ()  # the statements the program is inside of that may catch an exception
        self.once: dict[int, Any] = {}  # iterators whose items are taken once, by id
        self.stores = 0  # how many writes into arrays were recorded
        self.raising = 0  # how many calls were recorded that may raise when the graph runs
        self.refused = None  # the first refusal, in case the program catches it
        self.doubts: list[Any] = []  # why the graph may not be right for a call, which the function itself runs then
        self.bound: dict[Any, Any] = {}  # function → the same converted for this capture
        self.reads, self.libraries, self.given = OuterReads(self), Libraries(self), GivenFunctions(self)
        self.lists, self.places = Lists(self), Places(self)
        self.paths: dict[int, str] = {}  # id → the name of a parameter or buffer of the module that is captured
        self.start: Any = None  # where the captured function begins
        self.named_sizes: dict[Any, Any] = {}
        self.remembered = Remembered()  # the loop whose body is captured
        self.reshaped: dict[Node, Array] = {}  # input → the array of the caller's that was given another shape
        self.mask_sizes: dict[Node, Any] = {}  # mask → how many elements it selects
        self.written_out: dict[Any, tuple[int, Any]] = {}  # loop run step by step → how many steps, the error if any

    # Nodes

    def create(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], type_: Any, name: str | None = None
    ) -> Node:
        """A call in the present region, with its type and its place in the program."""
        self.allowance.spend()
        graph = self.region.graph
        node_args = tuple([self.arg(a) for a in args])
        node_kwargs = {key: self.arg(value) for key, value in kwargs.items()} if kwargs else kwargs
        call = target, node_args, node_kwargs, type_
        if self.trying and may_raise_unseen(*call) and self.may_catch(raised_by(target, type_)):
            self.try_anyway(_called(target))
        raising = self.keeps_raising and (may_raise(*call) or asks_unknown(target, node_args))
        unknown = type_ is None and not is_quiet(target)
        if self.state.sets and (raising or unknown):
            self.state.flush_all()
        if unknown and self.stores:
            self.check_seen(args, args[1] if target is getattr else None)
        node = graph.create_node("call_function", target, node_args, node_kwargs, name)
        if isinstance(type_, type) or target is getattr:  # of the shape of an array, for a size
            self.computed[node] = node_args  # dead nodes forget them, and guards may need them
        node._position = self.position(sys._getframe(1))
        node._meta = {"type": type_}
        if raising or unknown:
            self.raising += 1
        if raising:
            node._meta["raises"] = True
        return node

    def position(self, frame: FrameType | None = None) -> Any:
        return _where.capture(frame or sys._getframe(1), self.boundary, None)

    def arg(self, value: Any) -> Any:
        """What a value is as an argument of a node."""
        kind = type(value)
        if kind in _AS_IT_IS:
            return value
        if isinstance(value, Items):
            value = take(self, value)
        if isinstance(value, Traced):
            return value.node
        if self.lists.grown and self.lists.get(value) is not None:
            return self.lists.grown[id(value)].handle.node
        if kind is tuple or kind is list:
            parts = [self.arg(part) for part in value]
            return tuple(parts) if kind is tuple else parts
        if isinstance(value, (np.ndarray, Tensor)):
            return self.constant(value).node
        if isinstance(value, _KEPT):
            return self.function_arg(value)
        if kind is dict:
            settle_keys(self, value)
            return missing_last(self, value) or {key: self.arg(part) for key, part in value.items()}
        if kind is slice:
            return slice(self.arg(value.start), self.arg(value.stop), self.arg(value.step))
        if isinstance(value, Dim):
            return self.size_node(value)
        node = self.state.object_node(value)
        if node is not None:
            return node
        opened = pytree.parts_of(value)
        if opened is not None:
            return container(kind, opened[1], [self.arg(part) for part in opened[0]], self._made_container)
        if callable(value) and not holds_traced(self, value):
            return self.function_arg(value)
        if kind is types.BuiltinMethodType and value.__name__ in _READING:
            return self.create(getattr, (value.__self__, value.__name__), {}, None)
        if kind in (set, frozenset):
            return self.create(kind, ([self.arg(part) for part in value],), {}, None)
        if isinstance(value, Undefined):
            self.undefined(value)
        if isinstance(value, Collected):
            return value.as_list()
        if isinstance(value, RangeItems):
            return self.create(range, (value.start, value.stop, value.step), {}, None)
        if isinstance(value, GrownList):
            return value.handle.node
        return self.libraries.constant(value) or self._refuse_argument(value, kind)

    def _refuse_argument(self, value: Any, kind: type) -> NoReturn:
        if isinstance(value, Generated):
            self.refuse("a generator cannot be an argument or a result in a graph", help="make a list of it: list(...)")
        if kind is types.MethodType:
            self.refuse(
                f"{value.__name__}, a method of an object that the program made, cannot be an argument in a graph",
                help="call it in a loop or a comprehension",
            )
        self.refuse(
            f"a value of type {kind.__module__}.{kind.__qualname__} cannot be an argument or a result in a graph",
            help=_instead_of(value, kind),
        )

    def in_structure(self, tree: pytree.Tree, nodes: list[Any]) -> Any:
        """Nodes in the structure of a value, as a result of a graph."""
        return in_structure(tree, nodes, self._made_container)

    def _made_container(self, target: Any, args: tuple[Any, ...]) -> Node:
        return self.create(target, args, {}, None)

    def wrap(self, node: Node, type_: Any, *, array: bool = False, tensor: bool = False, layout: Any = False) -> Any:
        """The traced value of a node of this type: a scalar, an array in a buffer of its own, a container of them."""
        if isinstance(type_, Spec) and type_.dtype.kind in NUMERIC:
            self.bind_sizes(node, type_)
            if not type_.shape and not array and not tensor:
                return Scalar(self, type_.dtype, node)
            buffer = Buffer(type_, node._name, layout=layout)
            buffer.made_by = node.target
            self.region.make(buffer, node)
            return self.array_class(tensor)(self, buffer, (), type_)
        if isinstance(type_, type) and type_ in REPRESENTATIVES:
            return Scalar(self, type_, node)
        if isinstance(type_, (tuple, list)):
            parts = [self._item(node, k, part, array, tensor, layout) for k, part in enumerate(type_)]
            return pytree.from_parts(type(type_), None, parts)
        if isinstance(type_, dict):
            return {key: self._item(node, key, part, array, tensor, layout) for key, part in type_.items()}
        return Opaque(self, node)

    def _item(self, node: Node, key: Any, type_: Any, array: bool, tensor: bool, layout: Any) -> Any:
        item = self.create(operator.getitem, (node, key), {}, type_)
        return self.wrap(item, type_, array=array, tensor=tensor, layout=layout)

    def array_class(self, tensor: bool) -> type[Array]:
        if not tensor:
            return Array
        self.tensors = True
        from weft.capture._tensor_values import TensorArray

        return TensorArray

    def met(self, value: Any) -> Any:
        """A value that the program has found somewhere: an array that a container holds is read when the graph runs."""
        if not isinstance(value, (np.ndarray, Tensor)) or not is_traceable(value):
            return value
        made = self.constant(value)
        target = made.buffer.target if isinstance(made, Array) else None
        if target is not None and not target.target.startswith("_constant"):
            self.named.add(target)  # by the attribute it is, a better name than that of a loop's variable
        return made

    def constant(self, value: Any) -> Any:
        """The traced value of an array the program closes over; the graph reads the array itself, not a copy."""
        known = self.constants.get(id(value))
        if known is None and (held := self.state.pinned(value)) is not None:
            return held
        if known is None:
            graph = self.root.graph
            path = self.constant_path(value)
            node = graph.create_node("get_attr", path, (), {})
            node._position = self.position()
            known = self.constants[id(value)] = (value, self._constant(value, path, node))
        return known[1]

    def _constant(self, value: Any, path: str, node: Node) -> Array | Opaque:
        if not is_traceable(value):
            refuse_changing(self, value)
            return Opaque(self, node)
        spec = Spec(value.shape, value.dtype)
        node._meta = {"type": spec}
        buffer = Buffer(spec, path, node, layout=layout_of(value, path))
        self.root.make(buffer, node)
        return self.array_class(isinstance(value, Tensor))(self, buffer, (), spec)

    def constant_path(self, value: Any) -> str:
        """The name by which the graph reads an array: its own in the module that is captured, else a new one."""
        path = self.paths.get(id(value))
        if path is None:
            known = self.root.graph.constants
            path = self.reads.called.get(id(value), f"_constant{len(self.constants)}")
            if path in known or path in self.paths.values() or hasattr(GraphModule, path):
                path = f"_{path}{len(self.constants)}"
            known[path] = value
        return path

    # Calls

    def call_op(
        self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any = None, called: Any = None
    ) -> Any:
        """Record a call of an op, under its own name or that of an operator that means the same.

        `called` is the function of NumPy's that the program called; what runs over NumPy calls it again.
        """
        if not isinstance(op, Op):
            return self.opaque(op, args, kwargs)
        if is_opaque(args) or is_opaque(kwargs):
            return self.opaque(target or called or op, args, kwargs)
        if op.name in PARTS and op.body is not None and args and type(args[0]) is Array:
            return op.body(*args, **kwargs)
        arguments = op.bind(args, kwargs)
        args, kwargs, arguments = self._with_sizes(op, args, kwargs, arguments)
        if op.name == "squeeze" and (unknown := self.sizes_squeezed(arguments)):
            if self.joins:
                return self.squeezed_anyhow(arguments[0])
            args, kwargs, arguments = self.squeezed(arguments, unknown)
        rules = [
            self.abstract(value) if is_array else self.structural(value)
            for is_array, value in zip(op.takes_arrays, arguments, strict=True)
        ]
        if op.name in _COUNTING:
            named = zip(op.__signature__.parameters, arguments, rules, strict=True)
            rules = [self._counted(value) if name in _COUNTS else rule for name, value, rule in named]
        guessed = self.guesses()
        try:
            type_ = self.inferred(op, rules)
        except TypeError:
            refuse_mixed(*pytree.leaves_of(arguments))
            raise
        tensor = is_tensor(arguments)
        if op.name in VIEWS and arrays_in(arguments[0]):
            made = VIEWS[op.name](self, arguments, type_)
            if made is not None:
                if self.guesses() > guessed and isinstance(made, Array):
                    self.may_not_fit(self.read(made) if self.keeps_raising else None, op)
                return made
        node = self.create(target or op, args, kwargs, type_)
        if self.guesses() > guessed or self.refuses_size(op, arguments):
            self.may_not_fit(node, op)
        if self.no_grad and (tensor or self.deriving):
            from weft.capture._tensor_values import without_gradient

            node = without_gradient(self, node, type_)
        if called is not None and not tensor:
            node.meta["called"] = called
        # NumPy keeps the order of what it was given, where it can. Whether that matters turns out later, if at all.
        given: Any = [a for a in arrays_in(arguments) if len(a.spec.shape) > 1]
        layout = (Alike(given) if op.order == ORDER_KEPT else given) or "C"
        if op.order == ANY_ORDER:
            whole = op.name == "unique" and arguments[list(op.__signature__.parameters).index("axis")] is None
            layout = "C" if whole else False
        return self.wrap(node, type_, array=op.always_array, tensor=tensor, layout=layout)

    def guesses(self) -> int:
        """How often only running tells whether sizes are those that a call takes."""
        return len(self.sizes.assumed) + self.sizes.left_open

    def may_not_fit(self, node: Node | None, op: Any) -> None:
        """Note that only running tells whether a call has the sizes that it takes."""
        if node is not None and self.keeps_raising:
            node.meta["raises"] = "sizes"
            self.raising += 1
        if self.may_catch(OF_VALUES):
            self.try_anyway(_called(op))

    def sizes_in(self, value: Any) -> Any:
        """What a shape is: NumPy takes an array of sizes for the tuple of them."""
        if not isinstance(value, Array):
            return value
        return tuple(self.items(value)) if value.spec.shape else self.numpy.item(value)

    def _with_sizes(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Any) -> Any:
        """The arguments of an op, with tuples for arrays of sizes."""
        takes = zip(op.__signature__.parameters, arguments, strict=True)
        sizes = {id(a): self.sizes_in(a) for name, a in takes if name in _SIZES and isinstance(a, Array)}
        if not sizes:
            return args, kwargs, arguments
        args = tuple([sizes.get(id(a), a) for a in args])
        kwargs = {name: sizes.get(id(a), a) for name, a in kwargs.items()}
        return args, kwargs, op.bind(args, kwargs)

    def squeezed_anyhow(self, array: Array) -> Any:
        """A squeeze of an array of which not even the number of dimensions that are left is known."""
        array.buffer.listed = "what a squeeze has left of it"
        return Joined(self, self.create(np.squeeze, (array,), {}, None))

    def sizes_squeezed(self, arguments: Any) -> list[Any]:
        """The sizes of an array that a squeeze leaves out if they are 1, as only running tells."""
        x, axis = arguments
        shape = self.abstract(x).shape if axis is None and isinstance(x, Array) else ()
        return [d for d in shape if isinstance(d, Dim) and d.env.known("==", d, 1) is None]

    def squeezed(self, arguments: Any, unknown: list[Any]) -> Any:
        """The arguments of such a squeeze where none of those sizes is 1, which is checked."""
        x, _ = arguments
        self.doubt(f"squeeze: whether {unknown[0]} is 1 is known only when it runs", help=_NAME_AXES)
        for size in unknown:
            self.create(check, (self.create(operator.ne, (size, 1), {}, bool), "squeeze: a size is 1"), {}, None)
        axis = tuple(
            k for k, d in enumerate(x.spec.shape) if (d.env.known("==", d, 1) if isinstance(d, Dim) else d == 1)
        )
        return (x, axis), {}, (x, axis)

    def inferred(self, op: Op, rules: Any) -> Any:
        """What the shape rule of an op says. Where it had to guess at sizes, those of the result are left open."""
        assumed, guessed = self.sizes.assumed, len(self.sizes.assumed)
        try:
            with unknown_sizes(self.sizes):
                type_ = _described(op.infer(*rules))
        except (ShapeError, DtypeError, IndexingError) as error:
            raise self.in_numbers(error, op, rules) from None
        if len(assumed) == guessed:
            return type_
        # That two sizes are the same is no guess: the op itself fails where they are not.
        if all(g.relation == "==" and g.outcome for g in assumed[guessed:]):
            return type_
        return pytree.map(lambda spec: self._opened(spec, op), type_)

    def _opened(self, spec: Any, op: Op) -> Any:
        if not isinstance(spec, Spec):
            return spec
        given = "shape" in op.__signature__.parameters  # so numbers in it are sizes of the result, whatever the others
        return Spec([d if given and type(d) is int else self.sizes.fresh(op.name) for d in spec.shape], spec.dtype)

    def abstract(self, value: Any) -> Any:
        """What a shape rule is given for an array: its Spec, or a number of the same type where it is Python's own."""
        if isinstance(value, Array):
            return value.spec
        if isinstance(value, Scalar):
            return REPRESENTATIVES[value.kind] if isinstance(value.kind, type) else value.spec
        if isinstance(value, (np.ndarray, Tensor)):
            return Spec(value.shape, value.dtype)
        if isinstance(value, (tuple, list)):
            return type(value)([self.abstract(part) for part in value])
        return value

    def _counted(self, value: Any) -> Any:
        """What a shape rule is given for an array or the number that is a size."""
        if isinstance(value, (tuple, list)):
            return type(value)([self._counted(part) for part in value])
        return self.dim(value) if isinstance(value, Scalar) and value.kind is int else self.abstract(value)

    def structural(self, value: Any) -> Any:
        """What a shape rule is given for any other parameter: sizes stay symbolic."""
        if type(value) in _AS_IT_IS:
            return value
        if isinstance(value, Scalar):
            whole = value.kind is int or (not isinstance(value.kind, type) and value.kind.kind in "iu")
            return self.dim(value) if whole else value.spec
        if isinstance(value, Array):
            return value.spec
        if isinstance(value, (tuple, list)):
            return type(value)([self.structural(part) for part in value])
        if isinstance(value, slice):
            return slice(self.structural(value.start), self.structural(value.stop), self.structural(value.step))
        return value

    def operate(self, function: Callable[..., Any], *args: Any) -> Any:
        """Record an operator of Python's."""
        special = self.reads.special
        if special.methods and any(type(a) in special.methods for a in args):
            if special.defers(args):
                return NotImplemented
            args = special.arrays(args)
        if is_opaque(args):
            return self.opaque(function, args, {})
        args = operands(function, args)
        if function in _OF_COMPLEX and _is_complex(args[0]):
            args = (args[0], _as_float(args[1]))
        if all(map(_is_number, args)):
            return self._number(function, args)
        usual = _OPERANDS.issuperset(map(type, args))
        if not usual and any(type(a) in _NO_NUMBERS for a in args) and _traced_are_numbers(args):
            return self._with_other(function, args)
        if not usual and any(isinstance(a, (str, list, tuple, range, RangeItems, dict, set)) for a in args):
            if function in (operator.eq, operator.ne) and any(isinstance(a, (str, dict, set)) for a in args):
                traced: Any = next(a for a in args if isinstance(a, Traced))
                return self._unlike(traced, function is operator.ne, any(isinstance(a, str) for a in args))
            if function is operator.mul and any(isinstance(a, Scalar) for a in args) and any(map(_is_sequence, args)):
                return NotImplemented  # Python repeats the sequence, or says that it cannot
            if not all(map(_is_numeric, args)):
                return NotImplemented
            if function is operator.matmul and any(isinstance(a, Scalar) for a in args):
                return NotImplemented  # NumPy's numbers have no such operator
            args = tuple(self.numpy.function(np.asarray, (a,), {}) if _is_sequence(a) else a for a in args)
        op = op_of(function)
        assert op is not None
        return self.call_op(op, args, {}, function)

    def _with_other(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """An operator between a number of Python's and something else of Python's: a list is no array beside one."""
        if function is operator.mul and any(type(a) in _REPEATED for a in args):
            return NotImplemented  # Python repeats the sequence, or says that it cannot
        given = [REPRESENTATIVES[a.kind] if isinstance(a, Scalar) else a for a in args]  # type: ignore[index]  # it is Python's
        return self._tried(function, args, given)

    @staticmethod
    def _tried(function: Callable[..., Any], args: tuple[Any, ...], given: list[Any]) -> Any:
        """What an operator gives for numbers of the types that its operands have."""
        try:
            return function(*given)
        except TypeError:
            refuse_mixed(*args)
            raise

    def _unlike(self, value: Any, answer: bool, of_text: bool) -> Any:
        """What comparing a value with a text, a dict or a set gives: no number is one."""
        if isinstance(value, Array):
            return self.numpy.function(np.full, (value.shape, answer), {})
        return np.bool_(answer) if of_text and not value.python else answer

    def _number(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """An operator between numbers, at least one of them traced and all Python's own."""
        kinds = [_kind(a) for a in args]
        if function in INTEGER_ARITHMETIC and all(kind is int for kind in kinds):
            dims = [self.dim(a) if isinstance(a, Scalar) else a for a in args]
            if function not in (operator.floordiv, operator.mod) or (isinstance(dims[1], int) and dims[1]):
                return self.computed_integer(function, args, dims)
        if function is operator.pos and kinds[0] is int:
            return args[0]
        # A division by zero raises when the graph runs, if it comes to that.
        given = [REPRESENTATIVES[k] if isinstance(a, Scalar) or not a else a for a, k in zip(args, kinds, strict=True)]
        kind = type(self._tried(function, args, given))
        hint = self._hint(function, args)
        relation = None
        if function in _RELATIONS and all(kind in (int, bool) for kind in kinds):
            relation = (_RELATIONS[function], *(self.dim(a) if isinstance(a, Scalar) else int(a) for a in args))
        node = self.create(function, args, {}, kind)
        if relation is not None and None in map(hint_of, relation[1:]):
            relation = None  # of numbers that are no expressions of sizes, such as abs(n): no guard could state it
        return Scalar(self, kind, node, hint=hint, relation=relation)

    @staticmethod
    def _hint(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        hints = [a.hint if isinstance(a, Scalar) else a for a in args]
        if any(type(hint) not in REPRESENTATIVES for hint in hints):
            return None
        try:
            if function in _STEEP and all(type(hint) is int for hint in hints):
                bits = hints[0].bit_length() * hints[1] if function is operator.pow else sum(hints)
                if bits > _MOST_BITS:
                    return None
            hint = function(*hints)
        except Exception:  # a division by zero and the like: it happens, or not, when the graph runs
            return None
        return hint if not isinstance(hint, int) or fits_a_hint(hint) else None

    def opaque(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of which only running can tell what it gives: of a wrapped function, for instance."""
        if any(isinstance(value, Joined) for value in (*args, *kwargs.values())):
            return given_joined(self, function, args, kwargs)
        return Opaque(self, self.create(function, args, kwargs, None))

    def create_method(self, owner: Traced, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        """A call of a method in the present region."""
        if self.libraries.callbacks.kept:
            self.libraries.callbacks.check(owner)
        if isinstance(owner, Opaque) and name in KEEPING:
            self.lists.hold(args)
            args = self.state.handed(args) if self.state.used else args
        node_args = tuple([self.arg(a) for a in (owner, *args)])
        node_kwargs = {key: self.arg(value) for key, value in kwargs.items()}
        self.raising += 1
        if self.stores:
            self.check_seen((owner, *args), name)
        self.stores += isinstance(owner, Opaque) and name in _WRITING_METHODS
        if self.state.sets:
            self.state.flush_all()
        if self.trying:
            self.try_anyway(f".{name}()")
        node = self.region.graph.create_node("call_method", name, node_args, node_kwargs)
        node._position = self.position(sys._getframe(1))
        if self.keeps_raising and asks_unknown(name, node_args):
            node._meta = {"raises": True}
        return node

    def call_method(self, owner: Opaque, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a method of a value of unknown type."""
        return Opaque(self, self.create_method(owner, name, args, kwargs))


def _frames(frame: FrameType | None) -> int:
    count = 0
    while frame is not None:
        count, frame = count + 1, frame.f_back
    return count


def _described(type_: Any) -> Any:
    """What a shape rule gives: of nothing but plain numbers it may give the result itself."""
    if isinstance(type_, Spec):
        for size in type_.shape:
            if isinstance(size, (float, complex, np.inexact, Spec)):
                raise TypeError(f"'{_class_name(size)}' object cannot be interpreted as an integer")
    return Spec(type_.shape, type_.dtype) if isinstance(type_, (np.ndarray, np.generic)) else type_


def _class_name(number: Any) -> str:
    """The name of a number's class as Python's messages have it."""
    if isinstance(number, (Spec, np.generic)):
        return f"numpy.{number.dtype.name}"
    return type(number).__name__


def _kind(value: Any) -> Any:
    return value.kind if isinstance(value, Scalar) else type(value)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple, range, RangeItems))


def _is_number(value: Any) -> bool:
    return (isinstance(value, Scalar) and value.python) or type(value) in REPRESENTATIVES


def _is_complex(value: Any) -> bool:
    """Whether a value is a complex number of Python's."""
    return type(value) is complex or (type(value) is Scalar and value.uses is None and value.kind is complex)


def _as_float(value: Any) -> Any:
    """What a complex number of Python's on the left sees of an operand: a float64 of NumPy's is a float to it."""
    if type(value) is Scalar and value.uses is None and value.kind == np.float64:
        return Scalar(value.recorder, float, value.node)
    return float(value) if type(value) is np.float64 else value


def _traced_are_numbers(args: tuple[Any, ...]) -> bool:
    return all(_is_number(a) for a in args if isinstance(a, Traced))


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (Traced, int, float, complex, np.ndarray, np.generic, Tensor)) or _is_sequence(value)


_SPOKEN = {"index_update": "[...] = ...", "getitem": "[...]", "check": "an assertion", "check_unpacked": "unpacking"}


def _called(target: Any) -> str:
    name = getattr(target, "__name__", target)
    return _SPOKEN.get(name, f"{name}()")


def _instead_of(value: Any, kind: type) -> str:
    """What to write in place of a value that a graph does not take."""
    file = getattr(sys.modules.get(kind.__module__.partition(".")[0]), "__file__", None)
    package = _where.package_of(file) if file else None
    if package is not None:
        return f"give the program arrays in place of {package} objects: np.asarray(...)"
    if hasattr(value, "__dict__") and not isinstance(value, ModuleType):
        return "make it a dataclass, or tell weft.pytree.register how to take it apart and make it again"
    return "use numbers, strings, arrays and containers of them, or mark the function with weft.wrap"
