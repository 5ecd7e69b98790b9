"""Features that a call names: NumPy's functions and methods, `math`, the builtins, the program's own functions."""

from __future__ import annotations

import ast

# Features that stand for several functions of NumPy; a feature `np.name` stands for that function by itself.
_GROUPS = {
    "np.eye": "eye identity",
    "np.*_like": "zeros_like ones_like empty_like full_like",
    "np.mgrid": "mgrid ogrid indices",
    "np.clip": "clip minimum maximum",
    "np.dot": "dot",
    "np.triu, np.tril": "triu tril triu_indices tril_indices",
    "np.hstack, np.vstack, np.dstack": "hstack vstack dstack column_stack",
    "np.concatenate, np.stack": "concatenate stack append",
    "np.percentile, np.median": "percentile quantile median",
    "np.cov": "cov corrcoef",
    "np.convolve": "convolve correlate",
    "sorting": "sort argsort unique lexsort argpartition partition",
    "cumulative": "cumsum cumprod",
    "padding and tiling": "pad tile repeat kron",
    "np.nonzero": "nonzero flatnonzero argwhere",
    "reductions": "sum mean max min prod any all std var argmax argmin ptp count_nonzero amax amin",
    "transposes and reshapes": "transpose reshape ravel swapaxes moveaxis squeeze expand_dims flip fliplr flipud rot90",
    "broadcasting": "newaxis broadcast_to",
    "complex numbers": "conj conjugate angle complex128 complex64 real imag",
}
_NUMPY = {name: feature for feature, names in _GROUPS.items() for name in names.split()}
_ALONE = (
    "zeros ones empty full arange linspace meshgrid fromfunction where roll diff outer einsum vdot cross "
    "histogram bincount searchsorted interp polyval gradient trapezoid linalg fft random"
)
_NUMPY |= {name: f"np.{name}" for name in _ALONE.split()}
# Methods of arrays, called on anything that is not a module.
_METHODS = {
    **{name: _NUMPY[name] for name in "dot cumsum cumprod nonzero argsort repeat clip".split()},
    **{name: _NUMPY[name] for name in _GROUPS["reductions"].split()},
    **{name: _NUMPY[name] for name in "transpose reshape ravel swapaxes squeeze".split()},
    "flatten": "transposes and reshapes",
    "sort": ".sort()",
    "fill": ".fill()",
    "copy": ".copy()",
    "astype": ".astype()",
    "conj": "complex numbers",
    "append": "list built by append",
}
_UFUNC_METHODS = {"outer", "reduce", "accumulate", "at"}
_BUILTINS = {"abs", "min", "max", "sum", "len", "round", "int", "float", "bool", "print"}
_OF_WEFT = {
    "nn": "nn.Module",
    "cond": "weft.cond, weft.switch",
    "switch": "weft.cond, weft.switch",
    "while_loop": "weft.while_loop, weft.fori_loop, weft.scan",
    "fori_loop": "weft.while_loop, weft.fori_loop, weft.scan",
    "scan": "weft.while_loop, weft.fori_loop, weft.scan",
}


def calls(tree: ast.AST) -> set[str]:
    """The features found in a function's or a class's tree."""
    found: set[str] = set()
    modules = {"np", "math", "weft", "itertools"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found |= _attribute(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, complex):
            found.add("complex numbers")
        elif isinstance(node, ast.Subscript):
            if any(isinstance(part, ast.Constant) and part.value is None for part in _items(node.slice)):
                found.add("broadcasting")
        elif isinstance(node, ast.Call):
            found |= _call(node)
            if isinstance(node.func, ast.Attribute):
                base = node.func.value
                if not (isinstance(base, ast.Name) and base.id in modules):
                    found |= {_METHODS[node.func.attr]} if node.func.attr in _METHODS else set()
    if isinstance(tree, ast.ClassDef):
        found.add("method")
    return found


def _attribute(node: ast.Attribute) -> set[str]:
    found: set[str] = set()
    base = node.value
    if isinstance(base, ast.Name) and base.id == "np":
        name = node.attr
        if name in _NUMPY:
            found.add(_NUMPY[name])
        elif name.startswith("nan") and name not in {"nan", "nan_to_num"}:
            found.add("nan-functions")
        elif name == "copy":
            found.add(".copy()")
    elif isinstance(base, ast.Name) and base.id == "math":
        found.add("math.*")
    elif isinstance(base, ast.Name) and base.id == "weft":
        found |= {_OF_WEFT[node.attr]} if node.attr in _OF_WEFT else set()
    elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name) and base.value.id == "np":
        if node.attr in _UFUNC_METHODS and base.attr != "random":
            found.add(f"np.add.{node.attr}")
    elif node.attr == "T":
        found.add("transposes and reshapes")
    elif node.attr in {"real", "imag"}:
        found.add("complex numbers")
    return found


def _call(node: ast.Call) -> set[str]:
    found: set[str] = set()
    keywords = {keyword.arg for keyword in node.keywords}
    if "out" in keywords:
        found.add("out=")
    if isinstance(node.func, ast.Name):
        found |= {node.func.id} & _BUILTINS
        if node.func.id == "complex":
            found.add("complex numbers")
        elif keywords and node.func.id not in _BUILTINS | {"sorted", "zip", "dict", "enumerate"}:
            found.add("keyword argument")
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "np":
        if node.func.attr == "histogram" and "weights" in keywords:
            found.add("np.histogram with weights")
        if node.func.attr == "ndarray":
            found.add("np.ndarray")
        if node.func.attr == "array" and node.args and _is_display(node.args[0]):
            found.add("np.array of values")
    return found


def _items(key: ast.expr) -> list[ast.expr]:
    return list(key.elts) if isinstance(key, ast.Tuple) else [key]


def _is_display(node: ast.expr) -> bool:
    """Whether a list is written out and holds something other than constants."""
    if isinstance(node, ast.List | ast.Tuple):
        return any(
            not isinstance(item, ast.Constant | ast.UnaryOp | ast.List) or _is_display(item) for item in node.elts
        )
    return isinstance(node, ast.ListComp)
