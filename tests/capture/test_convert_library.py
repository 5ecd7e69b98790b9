"""Pure-Python modules of the standard library, every function of them converted, work as before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from weft.capture._convert import convert, is_converted
from weft.capture._plain import PlainHooks

TEXT = "The quick brown fox   jumps over\n  the lazy dog, again-and-again; and stops.\n\nNew paragraph here. " * 4
WORDS = TEXT.split()


def load(name: str, without: tuple[str, ...], converted: bool) -> ModuleType:
    """A copy of the module of its own, without the C code that would replace its Python."""
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    alias = f"copy_of_{name.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(alias, found.origin)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[alias] = module
    kept = {each: sys.modules.get(each) for each in without}
    sys.modules.update(dict.fromkeys(without))  # type: ignore[arg-type]  # None makes an import fail
    try:
        spec.loader.exec_module(module)
    finally:
        for each, old in kept.items():
            sys.modules.pop(each)
            if old is not None:
                sys.modules[each] = old
    if converted:
        assert replace(vars(module), found.origin, module.__name__) > 3
    return module


def plain(function: FunctionType) -> Any:
    return convert(function).bind(function, PlainHooks())


def replace(space: Any, file: str, module: str, within: type | None = None) -> int:
    """Put converted functions in place of all functions of a file, in a namespace and in the classes of it."""

    def ours(value: Any) -> bool:
        if not isinstance(value, FunctionType) or value.__name__ == "__annotate__":  # Python 3.14 makes these itself
            return False
        return value.__code__.co_filename == file and not is_converted(value)

    count = 0
    for name, value in list(space.items()):
        made: Any = None
        if ours(value):
            made = plain(value)
        elif isinstance(value, staticmethod | classmethod) and ours(value.__func__):
            made = type(value)(plain(value.__func__))
        elif isinstance(value, property) and ours(value.fget):
            made = value.getter(plain(value.fget))
        elif isinstance(value, type) and value.__module__ == module and _defined_in(value, within):
            members = dict(vars(value))
            count += replace(members, file, module, value)
            for key, each in members.items():
                if each is not vars(value)[key]:
                    setattr(value, key, each)
        if made is not None:
            space[name] = made
            count += 1
    return count


def _defined_in(inner: type, outer: type | None) -> bool:
    """Whether a class found in a namespace was defined there, rather than only mentioned."""
    return inner.__qualname__.rpartition(".")[0] == ("" if outer is None else outer.__qualname__)


def heaps(module: Any) -> Any:
    heap: list[int] = []
    for n in (5, 1, 8, 3, 9, 2, 7):
        module.heappush(heap, n)
    popped = [module.heappop(heap), module.heapreplace(heap, 4), module.heappushpop(heap, 0)]
    numbers = [9, 4, 7, 1, 8, 2]
    module.heapify(numbers)
    merged = list(module.merge([1, 4, 6], [2, 3, 9], [], [5], key=lambda x: x, reverse=False))
    return (
        heap,
        popped,
        numbers,
        merged,
        module.nlargest(3, WORDS, key=len),
        module.nsmallest(4, WORDS),
        module.nsmallest(1, []),
    )


def statistics_of(module: Any) -> Any:
    data = [2.5, 3.25, 5.5, 11.25, 11.5, 11.75, 3.25]
    other = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 5.0]
    normal = module.NormalDist(100, 15)
    return (
        module.mean(data),
        module.median(data),
        module.mode(data),
        module.stdev(data),
        module.pvariance(data),
        module.quantiles(data, n=5),
        module.harmonic_mean(data),
        module.geometric_mean(data),
        module.multimode(WORDS),
        module.correlation(data, other),
        module.linear_regression(data, other),
        normal.cdf(90),
        normal.inv_cdf(0.3),
        normal.overlap(module.NormalDist(90, 10)),
        module.median_grouped([1, 2, 2, 3, 4, 4, 4]),
        failing(module.mean, []),
    )


def failing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with pytest.raises(Exception) as caught:  # compared with the original's
        function(*args, **kwargs)
    return type(caught.value).__name__, str(caught.value)


def wrapped(module: Any) -> Any:
    return [
        module.wrap(TEXT, width, **options)
        for width in (9, 20, 33)
        for options in (
            {},
            {"break_long_words": False},
            {"max_lines": 2},
            {"initial_indent": "* ", "drop_whitespace": False},
        )
    ] + [module.dedent("   a\n    b\n   c"), module.indent(TEXT, "> "), module.shorten(TEXT, 30), module.fill(TEXT, 25)]


def fractions_of(module: Any) -> Any:
    of = module.Fraction
    third, big = of(1, 3), of("3.1415926535")
    return (
        third + 2,
        third * of(7, 5),
        big.limit_denominator(100),
        of(0.1),
        of("-7/3") // 2,
        divmod(of(7, 2), of(2, 3)),
        third**-2,
        hash(third),
        third < 0.4,
        round(big, 2),
        str(of(-4, 6)),
        of(2) ** of(1, 2),
        failing(of, "x"),
        failing(of, 1, 0),
        float(big),
        int(of(7, 2)),
        of(5, 2) % 2,
        third == 1,
        abs(of(-1, 2)),
        repr(third),
    )


def differences(module: Any) -> Any:
    a, b = TEXT.splitlines(), TEXT.replace("lazy", "busy").replace("stops", "rests a bit").splitlines()
    matcher = module.SequenceMatcher(None, TEXT, TEXT[::-1])
    return (
        list(module.unified_diff(a, b)),
        list(module.context_diff(a, b)),
        list(module.ndiff(a[:6], b[:6])),
        matcher.ratio(),
        matcher.get_opcodes(),
        module.get_close_matches("brwn", WORDS),
        module.HtmlDiff().make_table(a[:4], b[:4]),
    )


def decoded(module: Any) -> Any:
    scan = module.scanstring
    decoder = module.JSONDecoder()
    texts = ['{"a": [1, 2.5, -3e2, true, null], "b": {"c": "\\u00e9\\n"}}', '"x"', "[]", '{"a": {}}', "[1, [2, [3]]]"]
    wrong = ['{"a" 1}', "[1,", '"abc', "{,}", '{"a": 1,}', "", '"\\q"', "nul"]
    return [decoder.decode(t) for t in texts], [failing(decoder.decode, t) for t in wrong], scan('ab\\"c" rest', 0)


def encoded(module: Any) -> Any:
    data = {"a": [1, 2.5, None, True, float("inf")], "é": ("x", {"y": []}), 3: '\n\t"\\'}
    loops: list[Any] = []
    loops.append(loops)
    return (
        module.JSONEncoder(indent=2, sort_keys=False).encode(data),
        list(module.JSONEncoder(ensure_ascii=False).iterencode(data)),
        failing(module.JSONEncoder().encode, loops),
        failing(module.JSONEncoder().encode, {1j: 2}),
        failing(module.JSONEncoder(allow_nan=False).encode, data),
        module.py_encode_basestring_ascii("é\U0001f600"),
    )


def decimals(module: Any) -> Any:
    of = module.Decimal
    with module.localcontext() as context:
        context.prec = 30
        values = [
            of("1.1") + of("2.22"),
            of(2).sqrt(),
            of("1.5").ln(),
            of("2").exp(),
            of(10) ** of("0.3"),
            of(7) / of(3),
        ]
        values += [of("123.456").quantize(of("0.01")), of("-7") // of(2), of("-7") % of(2), of("1e400") * of("1e400")]
        values += [of("0.1").compare(of("0.2")), of("3.7").to_integral_value(), of(5).log10(), of("1.25").fma(2, 3)]
        text = [format(of("1234567.891"), "*^20,.2f"), str(of("-0E+3")), of("12.50").normalize().to_eng_string()]
        signals = sorted(s.__name__ for s in context.flags if context.flags[s])
        return (
            [str(v) for v in values],
            text,
            signals,
            failing(of, "zz"),
            failing(lambda: of(1) / of(0)),
            hash(of("1.5")),
        )


def calendars(module: Any) -> Any:
    text = module.TextCalendar(6)
    return (
        text.formatyear(2024, 2, 1, 1, 3),
        module.HTMLCalendar().formatmonth(2023, 5),
        module.monthrange(2023, 2),
        [module.isleap(y) for y in (1900, 2000, 2023, 2024)],
        list(module.Calendar().itermonthdays2(2024, 2)),
    )


def shells(module: Any) -> Any:
    texts = ["a 'b c' \"d e\" f\\ g", "x=1; y # comment", "", "''", "a\\\nb"]
    lexer = module.shlex("foo(bar) && baz|qux", punctuation_chars=True)
    return [module.split(t) for t in texts], list(lexer), failing(module.split, "'open"), module.quote("it's")


def addresses(module: Any) -> Any:
    network = module.ip_network("192.168.0.0/28")
    return (
        [str(h) for h in network.hosts()],
        str(network.supernet()),
        [str(n) for n in network.subnets(new_prefix=30)],
        failing(module.ip_address, "1.2.3"),
        module.ip_address("2001:db8::1").exploded,
        str(module.ip_address("::ffff:1.2.3.4")),
        list(map(str, module.summarize_address_range(module.IPv4Address("10.0.0.1"), module.IPv4Address("10.0.0.9")))),
        module.ip_address("127.0.0.1").is_loopback,
        network.overlaps(module.ip_network("192.168.0.8/29")),
    )


def configured(module: Any) -> Any:
    parser = module.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\nlong = one\n  two\n[b]\nflag = yes\n; note\n")
    return (
        {s: dict(parser[s]) for s in parser.sections()},
        parser.getboolean("b", "flag"),
        parser.getint("a", "y"),
        failing(parser.get, "a", "zz"),
        failing(parser.read_string, "[a]\n[a]\n"),
        failing(parser.read_string, "x = 1\n"),
    )


def parsed_arguments(module: Any) -> Any:
    parser = module.ArgumentParser(prog="p", exit_on_error=False)
    parser.add_argument("--n", type=int, default=3)
    parser.add_argument("-v", action="count", default=0)
    parser.add_argument("files", nargs="*")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--a", action="store_true")
    group.add_argument("--b", choices=["x", "y"])
    good = [vars(parser.parse_args(t.split())) for t in ("", "--n 4 f g -vv", "--a x", "--b=y", "-v -- --a")]
    return good, [failing(parser.parse_args, t.split()) for t in ("--n x", "--b z")], parser.format_usage()


def unparsed(module: Any) -> Any:
    import inspect

    return module.unparse(module.parse(inspect.getsource(sys.modules[__name__])))


def sorted_topologically(module: Any) -> Any:
    graph = {"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}
    return sorted(module.TopologicalSorter(graph).static_order()), failing(
        lambda: list(module.TopologicalSorter({"a": ["b"], "b": ["a"]}).static_order())
    )


def printed(module: Any) -> Any:
    data = {"words": WORDS[:12], "nested": {"a": [1, (2, 3), {4}], "b": "x" * 90}, "t": tuple(range(40))}
    return module.pformat(data, width=40), module.pformat(data, compact=True, depth=2), module.saferepr(data)


def strings(module: Any) -> Any:
    of = module.Template("$a ${b} $$ $c")
    return (
        of.safe_substitute(a=1, b=2),
        failing(of.substitute, a=1),
        module.capwords("a b  c"),
        module.Formatter().format("{0!r:>5} {x.real} {1[0]}", "a", [1], x=3),
        failing(module.Formatter().format, "{} {0}", 1),
    )


def urls(module: Any) -> Any:
    return (
        module.urlsplit("http://u:p@h:80/a;b?c=d#e"),
        module.urljoin("http://a/b/c/d", "../x?y"),
        module.quote("a b/é"),
        module.parse_qs("a=1&b=2&a=3&c="),
        module.urlencode({"a": [1, 2], "b": "x y"}, doseq=True),
        module.unquote("%C3%A9%zz"),
        failing(lambda: module.urlsplit("http://[x").port),
    )


def bisected(module: Any) -> Any:
    data = [1, 3, 3, 5, 9]
    module.insort(data, 4)
    module.insort_left(data, 3)
    return (
        data,
        [module.bisect(data, n) for n in range(10)],
        module.bisect_left(data, 3, key=lambda v: v),
        failing(module.bisect, data, 3, -1),
    )


def colours(module: Any) -> Any:
    grid = [0.0, 0.2, 0.5, 1.0]
    triples = [(r, g, b) for r in grid for g in grid for b in grid]
    names = ["rgb_to_hls", "hls_to_rgb", "rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb"]
    return [getattr(module, name)(*t) for name in names for t in triples]


MODULES: list[tuple[str, tuple[str, ...], Callable[[Any], Any]]] = [
    ("heapq", ("_heapq",), heaps),
    ("bisect", ("_bisect",), bisected),
    ("statistics", ("_statistics",), statistics_of),
    ("textwrap", (), wrapped),
    ("fractions", (), fractions_of),
    ("difflib", (), differences),
    ("json.decoder", ("_json",), decoded),
    ("json.encoder", ("_json",), encoded),
    ("_pydecimal", (), decimals),
    ("calendar", (), calendars),
    ("shlex", (), shells),
    ("ipaddress", (), addresses),
    ("configparser", (), configured),
    ("argparse", (), parsed_arguments),
    ("ast", (), unparsed),
    ("graphlib", (), sorted_topologically),
    ("pprint", (), printed),
    ("string", (), strings),
    ("urllib.parse", (), urls),
    ("colorsys", (), colours),
]


@pytest.mark.parametrize(("name", "without", "use"), MODULES, ids=[name for name, _, _ in MODULES])
def test_library(name: str, without: tuple[str, ...], use: Callable[[Any], Any]) -> None:
    original, made = load(name, without, False), load(name, without, True)
    assert repr(use(made)) == repr(use(original))
