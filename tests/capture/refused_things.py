"""What captured programs may not do with what lies outside, with containers, and with NumPy; see refused.py."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
from refused import READINGS, instead, refused

LAST: Any = None
SETTINGS: dict[str, Any] = {}
LOG: list[Any] = []


class Meter:
    """Holds a number that programs would like to change."""

    total = 0.0


METER = Meter()
INCREASED = eval("lambda x: abs(x) + 1")


# What lies outside


@refused(
    "weft.trace changes nothing outside",
    "a global that is assigned",
    "an assignment to the global LAST: it would happen once, when the program is captured",
    at="LAST",
    help="return the value, or write into an array: a[...] = value",
    front_end="trace",
)
def keeps_what_it_got(x):
    global LAST
    LAST = x
    return x * 2


@refused(
    "weft.trace changes nothing outside",
    "a dict of the module that is changed",
    "['last'] = … changes a dict that the program did not make itself: it would happen once, when the program is "
    "captured",
    at='settings["last"]',
    help="return the new value, or write into an array",
    front_end="trace",
)
def remembers(x):
    settings = SETTINGS
    settings["last"] = x.max()
    return x * 2


@refused(
    "weft.trace changes nothing outside",
    "an attribute of an object that was there before",
    ".total = … changes a Meter that the program did not make itself: it would happen once, when the program is "
    "captured",
    at="METER.total",
    help="return the new value, or write into an array",
    front_end="trace",
)
def adds_up(x):
    METER.total = METER.total + x
    return x * 2


@refused(
    "weft.trace changes nothing outside",
    "a list given as an argument that grows",
    ".append() changes a list that the program did not make itself: it would happen once, when the program is captured",
    READINGS,
    LOG,
    at="log.append(x.max())",
    help="return the new value, or write into an array",
    front_end="trace",
)
def appends_to_argument(x, log):
    log.append(x.max())
    return x * 2


@refused(
    "What lies outside the program",
    "a file",
    "open(): it would be called once, when the program is captured",
    at='open("readings.txt", "w")',
    help="call it outside, and pass what it gives as an argument",
)
def writes_file(x):
    with open("readings.txt", "w") as file:
        file.write(str(x))
    return x * 2


@refused(
    "What lies outside the program",
    "the clock",
    "time.perf_counter(): it would be called once, when the program is captured",
    at="time.perf_counter()",
    help="call it outside, and pass what it gives as an argument",
)
def times_itself(x):
    start = time.perf_counter()
    return x * 2, time.perf_counter() - start


@refused(
    "What lies outside the program",
    "Python's random numbers",
    "random.gauss(): it would be called once, when the program is captured",
    at="random.gauss(0.0, 1.0)",
    help="use a generator: rng = np.random.default_rng(seed), then rng.random(), rng.integers(n), rng.choice(items)",
)
def noisy(x):
    return x + random.gauss(0.0, 1.0)


# Exceptions


@refused(
    "Exceptions",
    "a `try` around what may raise when the graph runs, in a program that writes or prints",
    "inv() inside a `try` or `with` that may catch what it raises: whether it does is known only when the graph runs",
    np.eye(3),
    at="np.linalg.inv(a)",
    help="move it out of the try, or test for the case before: if ...:",
)
def catches(a):
    a[0, 0] = 2.0
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(a)


@instead
def tests_before(a):
    a[0, 0] = 2.0
    if np.linalg.matrix_rank(a) == len(a):
        return np.linalg.inv(a)
    return np.linalg.pinv(a)


# Containers


@refused(
    "Containers of Python's",
    "a dict indexed by a computed number, beside keys that are no numbers",
    "a key of a dict that is traced: which one it is, is known only when the graph runs",
    at="weights[int(x.max())]",
    help="use an array indexed by the number, or compare with each key",
)
def looks_up(x):
    weights = {1: 0.5, 2: 0.25, "other": 0.125}
    return x * weights[int(x.max())]


@instead
def looks_up_in_array(x):
    weights = np.array([0.0, 0.5, 0.25])
    return x * weights[int(x.max())]


@refused(
    "Containers of Python's",
    "a dict by computed numbers",
    "a dict by traced values",
    at="{int(v): 1 for v in x}",
    help="use an array, or np.unique",
)
def distinct(x):
    return len({int(v): 1 for v in x})


@instead
def distinct_by_array(x):
    return len(np.unique(x.astype(int)))


@refused(
    "Containers of Python's",
    "a list of different things, indexed by a computed number",
    "a list of a number of type float and an array float64[x_0], indexed by a traced value",
    at="[0.5, x][int(x[0]) % 2]",
    help="make it an array, or compare with each place: if k == 0: ... elif k == 1: ...",
)
def item_of_mixed_list(x):
    return x * [0.5, x][int(x[0]) % 2]


@instead
def item_of_list(x):
    return x * [np.full(len(x), 0.5), x][int(x[0]) % 2]


@refused(
    "Containers of Python's",
    "`sorted` of many values with a key",
    "100 values sorted by traced keys, one by one",
    np.arange(-50.0, 50.0),
    at="sorted(x, key=abs)",
    help="use arrays: order = np.argsort(keys, kind='stable'), then values[order]; "
    "np.argmin and np.argmax find a place",
)
def sorted_by_key(x):
    return np.array(sorted(x, key=abs))


@instead
def sorted_by_argsort(x):
    return x[np.argsort(np.abs(x), kind="stable")]


# NumPy


@refused(
    "NumPy",
    "`resize` in place",
    "a.resize() changes the size of an array in place",
    at="x.resize(6)",
    help="assign the result: a = np.resize(a, shape)",
)
def resizes(x):
    x.resize(6)
    return x


@refused(
    "NumPy",
    "a view as a dtype of another size",
    ".view() as a dtype of another size",
    at="x.view(np.uint8)",
    help="use .astype, or .copy().view in a wrapped function",
)
def bytes_of(x):
    return x.view(np.uint8)


@refused(
    "NumPy",
    "`where=` without `out=`",
    "np.log(…, where=…) without out=: elements not chosen are whatever was in memory",
    at="np.log(x, where=x > 0)",
    help="give out=, or use np.where",
)
def log_where(x):
    return np.log(x, where=x > 0)


@refused(
    "NumPy",
    "iterators of NumPy's",
    "np.nditer of a traced array",
    at="np.nditer(x)",
    help="loop over the array, over a.flat, or over np.ndenumerate(a)",
)
def iterates(x):
    total = 0.0
    for value in np.nditer(x):
        total += value
    return total


@instead
def iterates_over_items(x):
    total = 0.0
    for value in x.flat:
        total += value
    return total


@refused(
    "NumPy",
    "how an array lies in memory",
    ".data of a traced array",
    at="x.data",
    help="compute with the array itself",
)
def asks_memory(x):
    return x.data.nbytes // x.itemsize


# Calls

WRAP = "mark it with weft.wrap, which then runs as Python when the graph runs"


@refused(
    "Calls",
    "a builtin function without a rule",
    "builtins.id has no rule for traced values and no source to capture",
    at="id(x)",
    help=WRAP,
)
def asks_identity(x):
    return id(x)


@refused(
    "Calls",
    "a function whose source is not there",
    "<lambda> cannot be captured: its source is not available",
    at="INCREASED(x)",
    help="define it in a file, a notebook cell or a prompt that keeps its source, or mark it with weft.wrap to call it "
    "whole",
)
def calls_without_source(x):
    return INCREASED(x) * 2


@refused(
    "Calls",
    "a coroutine",
    "fetch is a coroutine",
    at="fetch(x)",
    help="call it outside of what is captured",
)
def calls_coroutine(x):
    return fetch(x)


async def fetch(x):
    return x
