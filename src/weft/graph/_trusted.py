"""What a saved file may name: functions, types, methods and attributes, and who decides about the rest.

A file names things by text. Ops of the table, the functions of `operator` and `math`, some builtins and NumPy's pure
array functions may always be named: none of them reads or writes files, runs text, or reaches Python's internals.
Anything else goes by import path, `package.module:name`, and is used only where the loader was told to allow it.

Running a loaded graph must not do more than compute, so the few functions that reach further with the right arguments
(`getattr`, `sorted` with a key) are checked where they are called, and are no values: a value may be called anywhere.
"""

from __future__ import annotations

import bisect
import builtins
import copy
import functools
import heapq
import importlib
import math
import operator
import re
import string
import sys
import typing
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable
from types import MappingProxyType, NoneType
from typing import Any, NoReturn

import numpy as np

from weft import errors, pytree
from weft.graph._control import CONTROL, check, fail
from weft.graph._handed import written, written_at
from weft.graph._list_arrays import LIST_ARRAYS
from weft.graph._literals import is_variable
from weft.graph._looping import LOOPING
from weft.ops._dim_terms import sliced
from weft.ops._methods import Methods
from weft.ops._op import TABLE, Op
from weft.ops._spec import Spec
from weft.ops.logic import choose

_BUILTINS = """abs all any ascii bin bool bytes complex dict divmod enumerate float format frozenset getattr hash hex
int isinstance issubclass iter len list max min next oct pow print range repr reversed round set setattr slice sorted
str sum tuple type zip"""

# attrgetter and methodcaller reach any attribute by text, and call runs what they find.
_OPERATOR = frozenset(operator.__all__) - {"attrgetter", "itemgetter", "methodcaller", "call"}

_NUMPY = """all allclose amax amin angle any append arange argmax argmin argpartition argsort argwhere around array
array_equal array_equiv array_split asanyarray asarray ascontiguousarray astype atleast_1d atleast_2d atleast_3d average
bartlett bincount blackman block broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip column_stack
compress concat concatenate convolve copy copyto corrcoef correlate count_nonzero cov cross cumprod cumsum
cumulative_prod cumulative_sum delete diag diag_indices diag_indices_from diagflat diagonal diff digitize dot dsplit
dstack ediff1d einsum empty empty_like expand_dims extract eye fill_diagonal fix flatnonzero flip fliplr flipud full
full_like geomspace gradient hamming hanning histogram histogram2d histogram_bin_edges histogramdd hsplit hstack i0
identity imag indices inner insert interp intersect1d isclose iscomplex iscomplexobj isdtype isin isneginf isposinf
isreal isrealobj isscalar issubdtype ix_ kaiser kron lexsort linspace logspace matrix_transpose max mean median meshgrid
min moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
nanquantile nanstd nansum nanvar ndim nonzero ones ones_like outer packbits pad partition percentile permute_dims place
poly polyadd polyder polydiv polyfit polyint polymul polysub polyval prod promote_types ptp put put_along_axis putmask
quantile ravel ravel_multi_index real real_if_close repeat reshape resize result_type roll rollaxis roots rot90 round
searchsorted select setdiff1d setxor1d shape sinc size sort sort_complex split squeeze stack std sum swapaxes take
take_along_axis tensordot tile trace transpose trapezoid tri tril tril_indices tril_indices_from trim_zeros triu
triu_indices triu_indices_from union1d unique unique_all unique_counts unique_inverse unique_values unpackbits
unravel_index unstack unwrap vander var vdot vsplit vstack where zeros zeros_like"""

_NUMPY_TYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
intp uintp generic number integer signedinteger unsignedinteger inexact floating complexfloating ndarray dtype"""

# Named as the type of something, never called: np.ndarray makes arrays over memory that is not theirs.
_NOT_CALLED = (np.ndarray, np.dtype, NoneType, typing.Any, Spec)


@functools.cache  # NumPy imports its masked arrays when they are first asked for
def _kinds() -> dict[str, Any]:
    """More of them, by name."""
    return {f"numpy.{kind.__name__}": kind for kind in (np.memmap, np.matrix, np.recarray, np.ma.MaskedArray)}


_CONTAINERS = (OrderedDict, deque, defaultdict, Counter, ChainMap, UserDict, UserList, MappingProxyType)

_BISECTING = (bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right)
_SORTING = (sorted, min, max, *_BISECTING)
_HEAPS = (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop)

_NOT_HANDED_ON = (getattr, setattr, type, np.ndarray, str.format, *_SORTING)

# What a program does to an array by assigning to an attribute. Not `dtype`: objects made of numbers lead anywhere.
_SET = frozenset({"shape", "real", "imag", "flat"})

# Methods of numbers and texts, called on their class.
_OF_CLASSES: tuple[Any, ...] = (str.format, int.bit_length, int.bit_count, float.is_integer)
_OF_CLASSES += (int.conjugate, float.conjugate, complex.conjugate)
_OF_UFUNCS = ("reduce", "accumulate", "outer", "reduceat", "at")

# What captured programs call: by module of weft.capture. Each checks what it is given to look up or to call.
_CAPTURED = {
    "_numpy_targets": "astype_of",
    "_contexts": "set_errors reset_errors change_errors change_errors_back",
    "_draws": "draw filled make_generator shuffled",
    "_grids": "grid_of",
    "_iterables": "_listed _rows",
    "_lookups": "get merge call_sequence call_text",
    "_memory": "updated",
    "_notices": "warn log filter_warnings catch_warnings end_catching",
    "_numpy_calls": "write_at",
    "_numpy_views": "with_flat",
    "_numpy_writes": "after apply_at",
    "_present": "only_there",
    "_python_calls": "added",
    "_text": "percent print_error",
    "_wrap": "as_given still_as_given",
}

# What the graph of a training step calls; the objects they change are those that came with the file.
_STEPS = """grad_of set_grad memory put set_mode option set_option prepare remembered remember
forget begin_search tell point_of end_search last_rate advance to_tensor to_array reals complexes"""
_BY_NAME = {"set_saved": 1, "delete_saved": 1, "option": 2, "set_option": 2}
_BY_NAME |= dict.fromkeys(("remembered", "remember", "forget"), 3)
"""By function of a step, which argument is a name."""

# What derivatives call: by module of weft.transform.
_DERIVED = {
    "_custom_nodes": "custom_call",
    "_custom_tape": "ruled_call",
    "_tape": "record touch add_tapes",
    "_taped": "written added",
}

_METHODS = """all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy
cumprod cumsum diagonal dot flatten item max mean min nonzero prod ravel repeat reshape round searchsorted sort squeeze
std sum swapaxes take to_device tolist trace transpose var view numpy requires_grad_ keys values items get fill insert
pop clear reverse remove index count add discard update setdefault popitem bit_length bit_count is_integer
capitalize casefold center endswith find isalnum isalpha isdecimal isdigit islower isnumeric isspace isupper join ljust
lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip splitlines
startswith strip swapcase title upper zfill"""

# What a graph may read with getattr: facts about arrays and dtypes, parts of slices. Not `base`, `ctypes`, `flags`,
# which lead to memory the array does not own, nor anything of frames, functions, graphs and modules.
_ATTRIBUTES = """T mT shape ndim size dtype device itemsize nbytes strides real imag flat data grad requires_grad
name kind char str start stop step"""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_LONGEST_NAME = 1000

Refuse = Callable[[str], NoReturn]

_CONTROL = (*CONTROL, *LOOPING, *LIST_ARRAYS, check, fail, written, written_at)


@functools.cache
def trusted() -> tuple[dict[Any, str], dict[str, Any]]:
    """The name of every object a file may always name, and the object of every name; ops stand in their own table."""
    named: dict[str, Any] = {}
    for name in _BUILTINS.split():
        named[name] = getattr(builtins, name)
    for name in sorted(_OPERATOR):
        named[f"operator.{name}"] = getattr(operator, name)
    for name, value in vars(math).items():
        if callable(value) and not name.startswith("_"):
            named[f"math.{name}"] = value
    for prefix, room, names in (
        ("numpy", np, _NUMPY.split() + _NUMPY_TYPES.split() + _ufuncs()),
        ("numpy.linalg", np.linalg, [name for name in np.linalg.__all__ if name != "LinAlgError"]),
        ("numpy.fft", np.fft, list(np.fft.__all__)),
    ):
        for name in names:
            if hasattr(room, name):  # some are younger than the oldest NumPy that will do
                named[f"{prefix}.{name}"] = getattr(room, name)
    named |= {value.__name__: value for value in vars(builtins).values() if _is_exception(value)}
    named["numpy.linalg.LinAlgError"] = np.linalg.LinAlgError
    named |= {f"weft.errors.{name}": value for name, value in vars(errors).items() if _is_exception(value)}
    # Under a name of their own: an op may be called as one of them is, such as that for the condition of a matrix.
    named |= {f"weft.control.{function.__name__}": function for function in _CONTROL}
    named |= _kinds()
    named |= {"NoneType": NoneType, "typing.Any": typing.Any, "weft.Spec": Spec}
    named |= {f"{kind.__module__}.{kind.__name__}": kind for kind in _CONTAINERS}
    named["weft.pytree.from_parts"] = pytree.from_parts
    named |= _of_programs()
    autograd = importlib.import_module("weft.autograd")  # by name: its room stands beside this one
    view = importlib.import_module("weft.autograd._view").View
    named |= {"weft.Tensor": autograd.Tensor, "weft.Parameter": autograd.Parameter, "weft.View": view}
    names_of: dict[Any, str] = {}
    for name, value in named.items():
        names_of.setdefault(value, name)
    objects = importlib.import_module("weft._objects")  # what changes any object is in a file what changes its own
    names_of |= {objects.set_state: "weft.state.set", objects.delete_state: "weft.state.delete"}
    return names_of, named


def _of_programs() -> dict[str, Any]:
    """What captured programs call besides: methods of classes and ufuncs, copies, and functions of weft.capture."""
    named: dict[str, Any] = {f"{each.__objclass__.__name__}.{each.__name__}": each for each in _OF_CLASSES}
    named |= {f"copy.{function.__name__}": function for function in (copy.copy, copy.deepcopy)}
    named |= {f"heapq.{function.__name__}": function for function in _HEAPS}
    named |= {f"bisect.{function.__name__}": function for function in _BISECTING}
    for ufunc in _ufuncs():
        named |= {f"numpy.{ufunc}.{method}": getattr(getattr(np, ufunc), method) for method in _OF_UFUNCS}
    named["numpy.random.default_rng"], named["numpy.random.RandomState"] = np.random.default_rng, np.random.RandomState
    named["numpy.random.Generator"] = np.random.Generator
    named["weft.control.sliced"] = sliced
    step = importlib.import_module("weft._step")  # by name: tensors stand beside this room
    named |= {f"weft.step.{name}": getattr(step, name) for name in _STEPS.split()}
    objects = importlib.import_module("weft._objects")
    named |= {f"weft.state.{name}": getattr(objects, f"{name}_saved") for name in ("set", "delete")}
    named["weft.control.choose"] = choose
    for module, functions in _DERIVED.items():
        room = importlib.import_module(f"weft.transform.{module}")  # by name: it stands above this one
        named |= {f"weft.transform.{name}": getattr(room, name) for name in functions.split()}
    named["numpy.generic.astype"] = np.generic.astype
    for module, functions in _CAPTURED.items():
        room = importlib.import_module(f"weft.capture.{module}")  # by name: it stands above this one
        named |= {f"weft.capture.{name}": getattr(room, name) for name in functions.split()}
    return named


def _is_exception(value: Any) -> bool:
    """Whether a builtin is an exception that a program may raise: not one that ends it."""
    return isinstance(value, type) and issubclass(value, Exception)


def _ufuncs() -> list[str]:
    return [name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc)]


def name_of(value: Any, refuse: Refuse) -> str:
    """The name under which a function or class is written to a file."""
    if isinstance(value, Op):
        if TABLE.get(value.name) is not value:
            refuse(f"op {value.name!r} is not the one in the table")
        return f"weft.{value.name}"
    inner = value
    while getattr(inner, "_weft_wrapped", False) and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    try:
        known = trusted()[0].get(inner)
    except TypeError:
        known = None
    return known if known is not None else path_of(value, refuse)


def path_of(value: Any, refuse: Refuse) -> str:
    """The import path of a function or class, checked to lead back to it."""
    path = f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', None)}"
    if not _PATH.fullmatch(path):
        refuse(f"{_describe(value)} has no import path: it is not defined at the top level of a module")
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value and getattr(found, "__wrapped__", None) is not value:
        refuse(f"{path} is not {_describe(value)}: something else has its import path")
    return path


class Allowed:
    """Turns names from a file back into functions and classes; knows what the loader was told to allow."""

    def __init__(self, allow: Iterable[Any]) -> None:
        if isinstance(allow, str) or callable(allow):
            allow = (allow,)
        self._paths: dict[str, Any] = {}
        self.methods: set[str] = set()  # and attributes to read
        for item in allow:
            if callable(item):
                self._paths[f"{getattr(item, '__module__', None)}:{getattr(item, '__qualname__', None)}"] = item
            elif isinstance(item, str) and item.startswith("."):
                self.methods.add(item[1:])
            elif isinstance(item, str) and _PATH.fullmatch(item):
                self._paths[item] = None
            else:
                raise TypeError(f"allow takes functions, classes, 'module:name' and '.method', not {item!r}")

    def find(self, name: Any, refuse: Refuse) -> Any:
        """The function or class of a name."""
        if not isinstance(name, str):
            refuse("the name of a function is not text")
        if name.startswith("weft.") and name[5:] in TABLE:
            return TABLE[name[5:]]
        named = trusted()[1]
        if name in named:
            return named[name]
        if name.startswith("weft.") and ":" not in name:
            refuse(f"this version of weft has no op {_brief(name[5:])}")
        if not _PATH.fullmatch(name):
            refuse(f"{_brief(name)} is neither a known function nor an import path")
        return self._import(name, refuse)

    def check_value(self, value: Any, refuse: Refuse) -> None:
        """Refuse a trusted function that must not be handed on: its calls are checked only where a file makes them."""
        if any(value is function for function in (*_NOT_HANDED_ON, *_kinds().values())):
            path = f"{value.__module__}:{value.__qualname__}"
            if path not in self._paths:
                refuse(f"{path} is not safe in the hands of others, and handing it on was not allowed")

    def _import(self, path: str, refuse: Refuse) -> Any:
        if path not in self._paths:
            own = own_named_tuple(path)
            if own is not None:
                return own
            refuse(f"{path} is not part of weft, and running it was not allowed")
        found = self._paths[path]
        if found is None:
            module, _, name = path.partition(":")
            try:
                found = importlib.import_module(module)
                for part in name.split("."):
                    found = getattr(found, part)
            except (ImportError, AttributeError) as error:
                refuse(f"{path} is allowed but cannot be imported: {error}")
            if not callable(found):
                refuse(f"{path} is allowed but is not a function or class")
            self._paths[path] = found
        return found


def own_named_tuple(path: str) -> Any:
    """Results of several arrays, such as those of linalg.svd, are named tuples of weft itself; None for other paths."""
    module, _, name = path.partition(":")
    if module.partition(".")[0] != "weft" or module not in sys.modules:
        return None
    found = getattr(sys.modules[module], name, None)
    return found if _fields(found) and found.__module__ == module else None


# Names that become part of generated code, or that reach into objects


def check_name(name: Any, refuse: Refuse) -> str:
    """A name for a variable."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not is_variable(name):
        refuse(f"{_brief(name)} is not a name")
    return name


def check_attribute(name: Any, refuse: Refuse) -> str:
    """The name of a parameter, buffer, submodule or attribute of a module: anything but Python's own names."""
    bad = not isinstance(name, str) or not name or not name.isprintable() or len(name) > _LONGEST_NAME
    if bad or "." in name or name.startswith("__"):
        refuse(f"{_brief(name)} cannot be the name of an attribute")
    return str(name)


def check_target(op: str, target: Any, refuse: Refuse) -> None:
    """The target of any kind of node but call_function and call_method."""
    if not isinstance(target, str):
        refuse(f"the target of a {op} is not text")
    if op == "placeholder":
        check_name(re.sub(r"^\*{1,2}", "", target), refuse)
    elif op in ("get_attr", "call_module"):
        for part in target.split("."):
            check_attribute(part, refuse)
    elif op == "output" and target != "output":
        refuse(f"the target of an output is {_brief(target)}")


def check_method(name: Any, kwargs: Any, allowed: Iterable[str], refuse: Refuse) -> None:
    """The name of a method to call: one of an array that does nothing but compute."""
    if not isinstance(name, str) or (name not in _methods() and name not in allowed):
        refuse(f"method {_brief(name)} is not known to be a harmless method of arrays")
    if "key" in kwargs and name not in allowed:
        refuse(f"{name} is called with a key, which would run whatever it is given")


def check_call(target: Any, args: Any, kwargs: Any, allowed: Iterable[str] | None, refuse: Refuse) -> None:
    """The arguments of the few trusted functions that could reach further than their own result.

    `allowed` has the attributes that may be read besides the usual ones; None is for who only writes a file.
    """
    if target is getattr:
        name = args[1] if len(args) in (2, 3) and not kwargs else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            refuse("getattr is not called with one name that is known beforehand")
        if name.startswith("_"):
            refuse(f"getattr reads {name!r}, which is private")
        if allowed is not None and name not in _attributes() and name not in allowed:
            refuse(f"getattr reads {name!r}, which is not known to be a harmless attribute of arrays")
    elif any(target is function for function in _SORTING) and "key" in kwargs:
        refuse(f"{target.__name__} is called with a key, which would run whatever it is given")
    elif target is type and (len(args) != 1 or kwargs):
        refuse("type is called with more than the value whose type is wanted: that would make a class")
    elif target is setattr and allowed is not None:
        name = args[1] if len(args) == 3 and not kwargs and isinstance(args[1], str) else None
        if name is None or (name.startswith("_") and name not in _SET):
            refuse(f"setattr writes {_brief(name)}, which is private or not known beforehand")
        if name not in _SET and name not in allowed:
            refuse(f"setattr writes {name!r}, which is not known to be a harmless attribute of arrays")
    elif target is str.format and allowed is not None:
        if not _is_template(args[0] if args else None) and "format" not in allowed:
            refuse("'format' of a text that may read attributes of what it shows is not known to be a harmless method")
    elif getattr(target, "__module__", None) in ("weft._step", "weft._objects"):
        _check_step(target, args, refuse)
    elif target is fail and not (args and isinstance(args[0], type) and issubclass(args[0], Exception)):
        refuse("fail is called with something else than a class of exceptions")
    elif any(target is cls for cls in (*_NOT_CALLED, *_kinds().values())):
        refuse(f"{target} is a type to be named, not a function to be called")


def _check_step(target: Any, args: Any, refuse: Refuse) -> None:
    """What a step reads and sets by name goes by a name that is known, and no private one."""
    place = _BY_NAME.get(target.__name__)
    name = "" if place is None else args[place] if len(args) > place else None
    if not isinstance(name, str) or name.startswith("__" if place == 1 else "_"):
        refuse(f"{target.__name__} goes by {_brief(name)}, which is no public name")


def _is_template(text: Any) -> bool:
    """Whether a text for `str.format` shows values as they are: `{0.name}` would read an attribute."""
    if not isinstance(text, str):
        return False
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return False
    return all((not name or name.replace("_", "").isalnum()) and _is_template(spec or "") for name, spec in fields)


def takes_types(op: str, target: Any) -> bool:
    """Whether the arguments of a call are types to compare with."""
    return op == "call_function" and (target is isinstance or target is issubclass)


@functools.cache
def _attributes() -> frozenset[str]:
    """Those of arrays, and the fields of results that are several arrays, such as those of linalg.svd."""
    found = {*_ATTRIBUTES.split()}
    for name, module in list(sys.modules.items()):
        if name.startswith("weft.ops."):
            found.update(field for value in vars(module).values() for field in _fields(value))
    return frozenset(found)


def _fields(value: Any) -> tuple[str, ...]:
    return value._fields if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields") else ()


@functools.cache
def _methods() -> frozenset[str]:
    public = {name for name in dir(Methods) if not name.startswith("_")}
    return frozenset({*_METHODS.split(), *public, *(name for name in TABLE if name.isidentifier())})


def _describe(value: Any) -> str:
    return f"{type(value).__name__} {getattr(value, '__qualname__', None) or _brief(value)}"


def _brief(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 64 else "a very large number"
    return text if len(text) <= 80 else text[:77] + "…"
