"""What of NumPy and Python a compiled function does not capture: one error that names the call, or the plain one's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from surface import check_raises, refusal_of, texts

import weft
from weft.errors import CaptureError

REFUSED = {
    "np.bmat([[X, X]])": "np.bmat gives a matrix",
    "np.asmatrix(X)": "np.asmatrix gives a matrix",
    "np.matrix(X, copy=False)": "numpy.matrix of a traced value",
    "x.view(np.matrix)": "matrix is a class of arrays, derived from np.ndarray",
    "x.view(type=np.recarray)": "recarray is a class of arrays, derived from np.ndarray",
    "np.ma.masked_array(x, b)": "MaskedArray of a traced value",
    "np.frompyfunc(lambda v: v + 1, 1, 1)(x)": "object elements",
    "[v for v in np.nditer(x)]": "np.nditer of a traced array",
    "np.broadcast(x, y).shape": "numpy.broadcast of a traced value",
    "x.data": ".data of a traced array",
    "c.view(float)": ".view() as a dtype of another size",
    "np.equal(x, y, dtype=object)": "np.equal in object",
    "np.real_if_close(c)": "np.real_if_close of complex numbers",
    "X[:, ::2].ravel('K')": "order='K' of an array whose elements do not lie in order",
    "np.vectorize(lambda v: v, excluded=[1])(x)": "np.vectorize with excluded",
    "np.vectorize(lambda v: (v, v), otypes='dd')(x)": "np.vectorize with several results",
    "np.modf(x, out=(f, y), where=b)": "into arrays of other dtypes than its results",
    "random.random() * x": "random.random()",
    "random.choice(l)": "random.choice()",
    "input()": "input()",
    "str(uuid.uuid4()) + str(k)": "uuid.uuid4()",
    "os.environ.get('HOME', '') + str(k)": "os.environ.get()",
    "print(k, file=io.StringIO())": "print(..., file=...) into a StringIO",
    # Views by functions without a rule may be read, not written.
    "v = np.trim_zeros(x)\nx[0] = 8\nreturn v": "shares memory with what np.trim_zeros gave",
    "v = np.einsum('ij->ji', X)\nv[0] = 8": "shares memory with what np.einsum gave",
    # How these results lie in memory is not known, so neither is whether ravel gives a view.
    "a = X + np.asfortranarray(Y)\nv = a.ravel()\nv[0] = 1\nreturn a": "was reshaped before",
    "a = np.stack([X.T, X.T])\nv = a.ravel()\nv[0] = 5\nreturn a": "was reshaped before",
    "a = X[:, [0, 1]]\nv = a.ravel()\nv[0] = 5\nreturn a": "was reshaped before",
    "a = np.gradient(X.T)[0]\nv = a.ravel()\nv[0] = 5\nreturn a": "was reshaped before",
    "a = np.histogram2d(x, y, bins=3)[0]\nv = a.ravel()\nv[0] = 5\nreturn a": "was reshaped before",
    "if x[0] > 0:\n    y.shape = (-1, 1)": "assigning .shape in a captured branch or loop",
}

RAISING = r"""
np.power(2, i) ;; x.itemset(0, 1) ;; np.copyto(i, x) ;; np.add(x, y, out=i) ;; i += 1.5 ;; i /= 2 ;; x += c
v = S.diagonal()\nv[0] = 1
v = np.broadcast_to(x, (2, len(x)))\nv[0] = 1
x[0] = [5, 6] ;; round(x, 2) ;; round(x) ;; int(x) ;; math.sqrt(neg) ;; int(r, 2)
np.matvec(x, y) if hasattr(np, "matvec") else np.dot(X, X) ;; np.subtract.reduce(b) ;; np.left_shift.reduce(x)
getattr(x, "buffer") ;; np.fliplr(x) ;; np.rot90(x) ;; max(e) ;; np.vectorize(lambda v: v)(e)
x.sum(out=y[:1]) ;; np.max(X, axis=0, out=np.zeros(())) ;; np.sum(X, out=x) ;; np.take(x, [0], out=X) ;; np.where(x, y)
np.argmax(x, out=np.zeros(())) ;; np.stack([x, y], dtype="f", out=X) ;; x.std(correction=1) ;; x.fill(value=1)
np.apply_along_axis(lambda v: v.sum(), 1, X[:0]) ;; np.var(x, ddof=1, correction=1)
np.add(x, y, dtype=int) ;; np.add(f, y, casting="no") ;; np.sqrt(x, out=i) ;; np.isnan(x, dtype=float)
np.array(i, dtype=float, copy=False) ;; np.array([x[0], 1.0], copy=False) ;; np.asarray(x, dtype="f", copy=False)
np.less.reduce(x) ;; np.arctan2.reduce(e) ;; np.split(x, 3) ;; x.reshape(3, -1)
"""


@pytest.mark.parametrize("text", REFUSED)
def test_refused_by_name(text: str) -> None:
    assert REFUSED[text] in refusal_of(text)


@pytest.mark.parametrize("text", texts(RAISING))
def test_raises_as_plain(text: str) -> None:
    check_raises(text)


class Angles(np.ndarray):
    """A class of arrays that looks at what it is given."""

    def __new__(cls, values: Any) -> Any:
        if type(values) is not np.ndarray:
            raise TypeError(f"no array: {type(values)}")
        return values.view(cls)


@pytest.mark.parametrize("capturing", [weft.compile, lambda f: lambda x: weft.trace(f, x)(x)])
def test_classes_of_arrays_are_refused_by_name(capturing: Any) -> None:
    with pytest.raises(CaptureError, match=r"Angles is a class of arrays, derived from np\.ndarray"):
        capturing(lambda x: Angles(x).sum())(np.ones(3))


def test_functions_of_the_program_that_numpy_applies_are_refused_in_plain_words() -> None:
    said = r"np\.apply_over_axes calls a function of the program inside NumPy, where it is not captured"
    with pytest.raises(CaptureError, match=said):
        weft.compile(lambda x: np.apply_over_axes(lambda a, k: a.sum(axis=k, keepdims=True), x, (0, 1)))(np.eye(2))
