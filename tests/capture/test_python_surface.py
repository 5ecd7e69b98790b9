"""Builtins, math, operator, itertools, text and random numbers in compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from surface import check_captured, texts

import weft
from programs._compare import assert_same, call

EXPRESSIONS = r"""
max(x, key=lambda v: -v) ;; sorted(x, key=lambda v: -v) ;; min(i, key=abs) ;; sorted(l, key=lambda v: v * r)
x == "abc" ;; "abc" != x ;; x[0] == "a" ;; ns != "a" ;; k == "a" ;; r != "a"
print(k, x[0], file=sys.stderr, sep="-") ;; print(r, file=sys.stdout) ;; np.sum([k, r]) ;; [0] * len(x) + [k]
abs(r) ;; abs(neg) ;; abs(w) ;; abs(k) ;; abs(t) ;; abs(ni) ;; round(r) ;; round(r, 1) ;; round(k) ;; round(k, -1)
round(ns) ;; round(ns, 1) ;; round(nf) ;; round(ni) ;; round(x[0]) ;; round(x[0], 2) ;; round(t) ;; int(r) ;; int(neg)
int(k) ;; int(t) ;; int(ns) ;; int(ni) ;; int(x[0]) ;; int(z) ;; int(nu) ;; int("7") + k ;; float(k) ;; float(r)
float(x[0]) ;; float(z) ;; float(t) ;; float(nb) ;; float(x[:1].sum()) ;; bool(k) ;; bool(r) ;; bool(x[0]) ;; bool(z)
bool(x[:1]) ;; complex(r) ;; complex(k, r) ;; complex(r, 2) ;; complex(x[0], x[1]) ;; complex(w) ;; complex(ns)
divmod(k, 2) ;; divmod(r, 0.3) ;; divmod(neg, k) ;; divmod(i, 3) ;; divmod(ni, 2) ;; divmod(x, y) ;; divmod(7, k)
pow(k, 2) ;; pow(2, k) ;; pow(k, 3, 5) ;; pow(r, 2) ;; pow(x, 2) ;; pow(k, -1) ;; pow(2, -k) ;; pow(neg, r)
pow(neg, 0.5) ;; neg ** 0.5 ;; k ** -1 ;; k ** 0.5 ;; 2 ** k ;; 2 ** -k ;; k // 2 ;; -k // 2 ;; -k % 3 ;; neg // k
neg % k ;; k / 2 ;; k % -3 ;; (-k) ** k ;; big * big ;; big ** 3 ;; big << 3 ;; k << 70 ;; ~k ;; k & 1 ;; k | 8
k ^ 3 ;; k >> 1 ;; k and r ;; k or r ;; not k ;; hash(k) ;; hash(r) ;; len(x) ;; len(X[0]) ;; len(l) ;; len("abc")
sum(x) ;; sum(X) ;; sum(l) ;; sum(l, r) ;; sum(q) ;; sum(x, 5) ;; sum(x, r) ;; sum([x, y]) ;; sum([k, r])
sum(v for v in x) ;; sum(v * 2 for v in x) ;; sum([v for v in x if v > 0]) ;; sum(a * d for a, d in zip(x, y))
sum(u) ;; sum(b) ;; sum(f) ;; sum(c) ;; sum([[1], [2]], []) ;; sum(range(k)) ;; sum(i) ;; sum(x > 0) ;; min(x)
max(x) ;; min(l) ;; max(l) ;; max(k, 3) ;; max(k, r) ;; max(r, 1) ;; max(1, r) ;; min(k, 3, r) ;; max(x[0], 0)
max(x[0], x[1]) ;; max(0, x[0]) ;; max(x[0], 0.0) ;; max(f[0], r) ;; max([k, 5]) ;; max((k, 5)) ;; max(x, default=0)
max(e, default=0) ;; max(l, key=abs) ;; max(abs(v) for v in x) ;; min(v for v in x if v > -5)
max([x[0], x[1], x[2]]) ;; max(i) ;; max(u) ;; min(b) ;; max(zip(l, q)) ;; max(range(k)) ;; sorted(x)
sorted(x, reverse=True) ;; sorted(l) ;; sorted(q, reverse=True) ;; sorted(l, key=abs) ;; sorted([k, 3, 1])
sorted([r, 0.1]) ;; sorted("bca") ;; any(b) ;; all(b) ;; any(x > 0) ;; all(v > -9 for v in x) ;; any(v > 1 for v in x)
any([k > 2, r > 5]) ;; all([b[0], b[1]]) ;; any(l) ;; all(q) ;; list(x) ;; tuple(x) ;; list(X) ;; list(range(k))
list(zip(x, y)) ;; list(zip(l, q)) ;; list(zip(x, l)) ;; list(zip(range(k), x)) ;; dict(zip("ab", x))
list(enumerate(x)) ;; list(enumerate(l)) ;; list(enumerate(x, 1)) ;; list(reversed(x)) ;; list(reversed(l))
list(map(abs, l)) ;; list(map(lambda v: v * 2, x)) ;; list(map(math.sqrt, p)) ;; list(map(float, i))
list(map(int, x)) ;; list(map(lambda a, d: a + d, x, y)) ;; list(map(max, x, y)) ;; list(filter(lambda v: v > 0, l))
list(filter(None, q)) ;; [v for v in x] ;; [v * k for v in l] ;; {a: v for a, v in enumerate(x)}
[v for v in l if v > 0] ;; [float(v) for v in x] ;; [int(v) for v in i] ;; [[a * d for a in x] for d in y]
tuple(v + 1 for v in x) ;; next(iter(x)) ;; next(iter(l)) ;; iter(x).__next__() ;; isinstance(x, np.ndarray)
isinstance(k, int) ;; isinstance(r, (int, float)) ;; isinstance(x[0], float) ;; isinstance(x[0], np.floating)
isinstance(i[0], (int, np.integer)) ;; isinstance(l, list) ;; isinstance(t, int) ;; type(x) is np.ndarray
type(k) is int ;; type(x[0]) ;; type(k)(3.5) ;; callable(x) ;; hasattr(x, "shape") ;; hasattr(x, "foo")
hasattr(x, "__name__") ;; hasattr(x[0], "mro") ;; hasattr(k, "__dict__") ;; getattr(x, "__name__", 5)
getattr(x, "shape") ;; getattr(x, "foo", 5) ;; issubclass(type(x), np.ndarray) ;; x is x ;; x is None ;; k == None
str(k) ;; str(r) ;; str(x) ;; repr(x) ;; repr(k) ;; str(x[0]) ;; f"{k}" ;; f"{r:.3f}"
f"{x[0]:.2e} {k:03d} {k!r:>5}" ;; f"{r:{k}.2f}" ;; f"{x}" ;; f"{x.shape} {x.dtype}" ;; f"{k=}" ;; f"{{}}{k}"
f"{len(x)} items" ;; "{} {:.2f}".format(k, r) ;; "{0:d}-{name}".format(k, name=r) ;; "%d %s" % (k, r) ;; "%.3f" % r
"%s" % x ;; "%d items" % len(x) ;; "a" + str(k) ;; "ab" * k ;; "-" * len(x) ;; str(k).zfill(5)
", ".join([f"{v:.1f}" for v in x]) ;; format(r, ".2f") ;; format(k, "b") ;; bin(k) ;; hex(k) ;; oct(k) ;; chr(k + 60)
bin(ni) ;; [hex(v) for v in i] ;; oct(int(x.sum())) ;; chr(abs(i[0]) + 60)
ord("a") + k ;; ascii(k) ;; print(k)
print(x, k, sep="|", end="!\\n")
print("a", r) ;; print(f"{r:.2f}") ;; print(x.sum(), l) ;; print() ;; print("x =", x[0], flush=True)
print("%d" % k) ;; print(*l) ;; print(*x) ;; print(k, file=None) ;; math.sqrt(r) ;; math.sqrt(k)
math.sqrt(x[0] ** 2) ;; math.exp(r) ;; math.log(r) ;; math.log(k, 2) ;; math.log(8, k) ;; math.log2(r)
math.log10(k) ;; math.log1p(r) ;; math.expm1(r) ;; math.sin(r) ;; math.cos(x[0]) ;; math.atan2(r, k)
math.hypot(r, k) ;; math.hypot(r, k, 1) ;; math.floor(r) ;; math.ceil(r) ;; math.trunc(neg) ;; math.floor(x[0])
math.ceil(k) ;; math.fabs(neg) ;; math.fmod(r, 0.3) ;; math.pow(k, 2) ;; math.gcd(k, 6) ;; math.lcm(k, 4)
math.factorial(k) ;; math.comb(5, k) ;; math.perm(5, k) ;; math.isqrt(big) ;; math.prod(l) ;; math.prod([k, r])
math.prod(x) ;; math.prod(q) ;; math.prod(q, start=2) ;; math.fsum(l) ;; math.fsum(x) ;; math.dist([r, 0], [1, k])
math.dist(x, y) ;; math.copysign(r, neg) ;; math.isclose(r, 0.5) ;; math.isclose(r, 0.6, rel_tol=0.5) ;; math.isnan(r)
math.isinf(r) ;; math.isfinite(x[0]) ;; math.degrees(r) ;; math.radians(r) ;; math.erf(r) ;; math.erfc(r)
math.gamma(r) ;; math.lgamma(r) ;; math.modf(r) ;; math.frexp(r) ;; math.ldexp(r, k) ;; math.ldexp(r, 2)
math.remainder(r, 0.3) ;; math.nextafter(r, 2) ;; math.ulp(r) ;; math.pi * r ;; math.inf > r ;; math.exp(z)
math.tau * k ;; cmath.sqrt(w) ;; cmath.exp(w) ;; cmath.phase(w) ;; cmath.polar(w) ;; cmath.rect(r, k)
cmath.sqrt(neg) ;; cmath.isnan(w) ;; cmath.log(w) ;; w.real ;; w.imag ;; w.conjugate() ;; w * w.conjugate() ;; w + r
w == 1 ;; k.real ;; k.bit_length() ;; r.is_integer() ;; r.hex() ;; r.as_integer_ratio() ;; k.to_bytes(2, "big")
k.__add__(2) ;; ns.item() ;; ns.dtype ;; ns.shape ;; ns.is_integer() ;; nf.astype(float) ;; ns.real ;; ns.sum()
ns.mean() ;; ni + 1 ;; nu + 100 ;; nu + nu ;; operator.add(x, y) ;; operator.mul(k, r) ;; operator.mod(k, 2)
operator.pow(r, 2) ;; operator.truediv(k, 2) ;; operator.neg(k) ;; operator.not_(k) ;; operator.truth(k)
operator.lt(k, r) ;; operator.and_(k, 1) ;; operator.getitem(x, 0) ;; operator.getitem(l, 1) ;; operator.matmul(S, x)
operator.index(k) ;; operator.contains(l, 5) ;; operator.concat(l, l) ;; operator.countOf(q, 3)
operator.indexOf(l, l[1]) ;; operator.length_hint(l) ;; operator.xor(k, 1) ;; operator.is_(x, x)
functools.reduce(operator.add, l) ;; functools.reduce(lambda a, d: a * d, x) ;; functools.reduce(operator.mul, q, 1)
functools.partial(np.add, x)(y) ;; functools.partial(math.pow, 2)(r) ;; list(itertools.product(range(2), range(2)))
[a * x[0] for a in itertools.chain([1, 2], [3])] ;; list(itertools.accumulate(l)) ;; list(itertools.accumulate(x))
list(itertools.chain(l, q)) ;; list(itertools.chain(x, y)) ;; list(itertools.combinations(l, 2))
list(itertools.combinations(range(3), 2)) ;; list(itertools.combinations(range(len(x)), 2))
list(itertools.permutations(q, 2)) ;; list(itertools.product(l, q)) ;; list(itertools.islice(x, 2))
list(itertools.islice(l, k)) ;; list(itertools.zip_longest(l, q)) ;; list(itertools.repeat(k, 3))
list(itertools.repeat(3, k)) ;; list(itertools.count(k).__next__() for _ in range(2)) ;; list(itertools.pairwise(x))
list(itertools.pairwise(l)) ;; list(itertools.takewhile(lambda v: v > -9, l))
list(itertools.compress(l, [1, 0, 1, 0])) ;; list(itertools.starmap(pow, [(2, 3)]))
sum(a * d for a, d in itertools.product(x, y))
n = 0\nfor a, d in itertools.product(range(k), range(3)):\n    n += a * d\nreturn n
n = 0.0\nfor a, d in itertools.combinations(range(len(x)), 2):\n    n += x[a] * x[d]\nreturn n
np.random.rand() ;; np.random.rand(3) ;; np.random.rand(k, 2) ;; np.random.randn(k) ;; np.random.random(k)
np.random.random((k, 2)) ;; np.random.random_sample(x.shape) ;; np.random.randint(0, 10)
np.random.randint(0, 10, k) ;; np.random.randint(0, 10, size=x.shape) ;; np.random.randint(k)
np.random.randint(0, k, 5) ;; np.random.normal() ;; np.random.normal(0, r, k) ;; np.random.normal(x, 1)
np.random.normal(loc=x, scale=p, size=x.shape) ;; np.random.uniform(-1, 1, k)
np.random.uniform(low=0, high=r, size=(k, 2)) ;; np.random.uniform(x, x + 1) ;; np.random.choice(x)
np.random.choice(x, 3) ;; np.random.choice(k, 2) ;; np.random.choice(5, k)
np.random.choice(len(x), 2, replace=False) ;; np.random.choice([1, 2, 3], size=k, p=[0.2, 0.3, 0.5])
np.random.choice(l) ;; np.random.permutation(len(x)) ;; np.random.permutation(X) ;; np.random.exponential(r, 3)
np.random.poisson(3, k) ;; np.random.binomial(10, 0.5, 3) ;; np.random.gamma(2, 1, 3) ;; np.random.beta(1, 2)
np.random.multivariate_normal(x[:2], np.eye(2)) ;; np.random.multivariate_normal(x[:2], np.eye(2), 3)
np.random.multinomial(5, [0.2, 0.8]) ;; np.random.dirichlet([1, 2]) ;; np.random.standard_normal(k)
np.random.bytes(3) ;; np.random.laplace() ;; np.random.seed(k)
np.random.seed(3)\nreturn np.random.rand(2) + x[0]
np.random.get_state()[0] ;; np.random.default_rng(0).random(3) ;; np.random.default_rng(k).normal(size=k)
g = np.random.default_rng(3)\na = g.random(3)\nd = g.integers(0, 5, size=2)\nreturn a, d
g = np.random.default_rng(3)\nreturn g.choice(x, 2), g.permutation(x), g.standard_normal(x.shape)
g = np.random.default_rng(3)\ng.shuffle(x)
g = np.random.default_rng(3)\nreturn g.random(), g.random()
g = np.random.default_rng(3)\nreturn g.random(out=x)
g = np.random.default_rng(3)\nreturn g.standard_normal(3, dtype=np.float32)
g = np.random.default_rng(3)\nreturn g.integers(0, 5), g.integers(5, endpoint=True, size=3)
g = np.random.default_rng(3)\nreturn g.uniform(size=len(x)), g.normal(x, p)
g = np.random.default_rng(3)\nreturn g.permuted(X, axis=1)
g = np.random.default_rng(3)\ng.permuted(X, axis=1, out=X)
g = np.random.default_rng(3)\nreturn g.bytes(3)
n = 0.0\nfor a in range(k):\n    n += np.random.rand()\nreturn n
n = 0\nfor a in range(len(x)):\n    if np.random.rand() < 0.5:\n        n += np.random.randint(0, 5)\nreturn n
for a in range(len(x)):\n    x[a] = np.random.normal()
[np.random.rand() for _ in range(k)] ;; "a" in {"a": 1} ;; k in [1, 2, 3] ;; k in (r, 2) ;; k in {1, 2}
k in range(5) ;; 2.0 in x ;; x[0] in x ;; k not in q ;; "x" if k > 2 else "y" ;; 1 if x[0] > 0 else -1
x[0] > 0 and x[1] > 0 ;; 0 < x[0] < 1 ;; not x[0] > 0 ;; [l[0], *x] ;; (*x, k) ;; {**{"a": k}, "b": r}
a, *d = x\nreturn a, d
a, *d = l\nreturn a, d
(a, d), g = (x[0], x[1]), k\nreturn a + d * g
l + [k] ;; l * 2 ;; l[0] + k ;; l[k % 2] ;; l[k - 2:] ;; q[::-1] ;; [0] * len(x) ;; [0.0] * k
[[0] * k for _ in range(2)] ;; [k] * 3 ;; (k,) * 2 ;; l.index(l[1]) ;; l.count(l[0])
a = []\nfor v in x:\n    a.append(v * 2)\nreturn a
a = []\nfor v in x:\n    if v > 0:\n        a.append(v)\nreturn np.array(a)
a = {}\na["x"] = x[0]\na["y"] = k\nreturn a
a = {"n": 0}\na["n"] += k\nreturn a["n"]
a = [0] * 3\na[1] = x[0]\nreturn a
a = list(l)\na.sort()\nreturn a
a = sorted(q)\nreturn a[0]
a = l.copy()\na.reverse()\nreturn a
slice(k) ;; x[slice(0, k)] ;; range(k) ;; range(k)[1] ;; len(range(k)) ;; list(range(0, len(x), 2)) ;; bytes(3)
Ellipsis ;; complex("1+2j") + k ;; int("3") + x[0] ;; float("inf") > x[0] ;; int.from_bytes(b"ab", "big") + k
np.float64(r) == r
"""


@pytest.mark.parametrize("text", texts(EXPRESSIONS))
def test_captured_as_plain(text: str) -> None:
    check_captured(text)


@pytest.mark.parametrize("value", [2.0, np.float64(2), np.array([1, 2]), -3, np.int64(-3)])
def test_text_of_what_is_no_integer_or_too_small(value: Any) -> None:
    for text in (lambda v: hex(v), lambda v: chr(v)):
        assert_same(call(weft.compile(text), (value,)), call(text, (value,)))
