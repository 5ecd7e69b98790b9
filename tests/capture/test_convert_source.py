"""A function's tree is found by its code: lambdas, notebook cells, prompts, text registered with linecache."""

from __future__ import annotations

import linecache
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.capture._convert import convert
from weft.capture._convert_compile import enclosing_class, mangled
from weft.capture._plain import PlainHooks
from weft.errors import CaptureError


def plain(function: Any) -> Any:
    return convert(function).bind(function, PlainHooks())


def written(text: str, file: str, **names: Any) -> dict[str, Any]:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names


# fmt: off
PAIR = (lambda x: x + 1, lambda x: x + 2); TWINS = [lambda x: x * 3, lambda x: x * 3]  # noqa: E702  # one line on purpose
NESTED = lambda x: (lambda y: x + y)  # noqa: E731  # a lambda on purpose
SPREAD = (lambda a,  # noqa: E731  # a lambda on purpose
                 b=2:
          a
          - b)
# fmt: on


def test_lambdas_on_one_line() -> None:
    assert [plain(each)(1) for each in PAIR] == [2, 3]
    assert [plain(each)(2) for each in TWINS] == [6, 6]
    assert len({str(list(plain(each).__code__.co_positions())) for each in TWINS}) == 2
    assert plain(NESTED)(1)(2) == 3
    assert plain(NESTED(5))(2) == 7
    assert plain(SPREAD)(5) == 3


def test_lambdas_nobody_can_tell_apart() -> None:
    text = "one, two = lambda x: x, lambda x: x\n"
    file = "<two lambdas>"
    made = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", _TWO_LAMBDAS.format(text=text, file=file)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "several lambdas on its line" in made.stdout


_TWO_LAMBDAS = """
import linecache
import math
from weft.capture._convert import convert
from weft.errors import CaptureError
text, file = {text!r}, {file!r}
linecache.cache[file] = (len(text), None, [text], file)
exec(compile(text, file, "exec"))
try:
    convert(two)
except CaptureError as error:
    print(error)
"""


def test_a_lambda_among_its_arguments() -> None:
    kept: list[Any] = []
    kept.append(lambda *a, k=(lambda: 3): (a, k()))
    assert plain(kept[0])(1) == ((1,), 3)


def test_a_notebook_cell_and_a_prompt() -> None:
    cell = "import math\n\n\n@staticmethod\ndef area(r):\n    if r < 0:\n        return 0.0\n    return math.pi * r\n"
    assert plain(written(cell, "<ipython-input-7-abc>")["area"].__func__)(-1) == 0.0
    prompt = "def twice(x):\n    return x * 2"
    assert plain(written(prompt, "<python-input-3>")["twice"])(4) == 8


def test_text_that_looks_like_the_end_of_the_function() -> None:
    text = '''
class Thing:
    def words(self, n):
        text = """
not the end
"""
        values = [
  1, n,
        ]
# nor is this
        total = 1 + \\
  2
        return text, values, total

    def after(self):
        return 1
'''
    thing = written(text, "<odd margins>")["Thing"]
    assert plain(thing.words)(thing(), 2) == thing().words(2)
    assert plain(thing.after)(thing()) == 1


def test_one_line_functions_and_tabs() -> None:
    text = "def one(x): return x + 1\nif True:\n\tdef two(x):\n\t\tif x: return 1\n\t\treturn 2\n"
    found = written(text, "<one line>")
    assert (plain(found["one"])(1), plain(found["two"])(0)) == (2, 2)


def test_future_statements_count() -> None:
    text = "from __future__ import annotations\ndef f():\n    def g(x: nowhere) -> nothing: return x\n    return g\n"
    inner = plain(written(text, "<future>")["f"])()
    assert inner.__annotations__ == {"x": "nowhere", "return": "nothing"}


def test_source_that_changed() -> None:
    text = "def f(x):\n    return x\n"
    function = written(text, "<changed>")["f"]
    other = "def f(y, z):\n    return y\n"
    linecache.cache["<changed>"] = (len(other), None, other.splitlines(keepends=True), "<changed>")
    with pytest.raises(CaptureError, match="its source has changed"):
        convert(function)
    shorter = written("def f(x):\n    y = x\n\n    return y\n", "<shorter>")["f"]
    linecache.cache["<shorter>"] = (len(text), None, text.splitlines(keepends=True), "<shorter>")
    with pytest.raises(CaptureError, match="its source has changed"):
        convert(shorter)


def test_a_file_that_was_edited_and_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    found = []
    for text in ("def f(x):\n    return x\n", "import math\n\ndef f(x):\n    return math.floor(x) + 10\n"):
        path.write_text(text)
        space: dict[str, Any] = {}
        exec(compile(text, str(path), "exec"), space)
        found.append(plain(space["f"])(2.5))
    assert found == [2.5, 12]


def test_text_without_a_name_of_its_own() -> None:
    """`<string>` may hold the source of something else: only the same code will do."""
    program = (
        "from weft.capture._convert import convert\n"
        "from weft.capture._plain import PlainHooks\n"
        "import linecache\n"
        "text = 'def f(x):\\n    return x + 2\\n'\n"
        "linecache.cache['<string>'] = (1, None, text.splitlines(True), '<string>')\n"
        "space = {}\n"
        "exec(text, space)\n"
        "print(convert(space['f']).bind(space['f'], PlainHooks())(1))\n"
        "exec('def f(x):\\n    return x - 2\\n', space)\n"
        "try:\n    convert(space['f'])\n"
        "except TypeError as error: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "refused"]


def test_a_file_with_invalid_escapes_warns_no_more() -> None:
    text = 'def f(x):\n    return "\\d" + x\n'
    with pytest.warns((DeprecationWarning, SyntaxWarning)):
        function = written(text, "<escapes>")["f"]
    assert plain(function)("a") == "\\da"


def test_private_names() -> None:
    names = ["f", "A.f", "A.f.<locals>.g", "f.<locals>.A.g", "A.f.<locals>.g.<locals>.h", "f.<locals>.g", "A.B.f"]
    assert [enclosing_class(name) for name in names] == [None, "A", "A", "A", "A", None, "B"]
    assert [mangled(name, "_A") for name in ("__x", "__x__", "_x", "__x.y")] == ["_A__x", "__x__", "_x", "__x.y"]
    assert mangled("__x", "__") == "__x"
    assert mangled("__x", None) == "__x"


def test_lambdas_on_one_line_that_call_functions_of_modules() -> None:
    # Python compiles a call of an imported module's function otherwise than that of a method.
    pair = [lambda x: math.sin(x) * x, lambda x: math.cos(x) * x]; nested = lambda x: (lambda y: math.exp(y) * x)(x)  # noqa: E702, E731  # fmt: skip
    for function in (*pair, nested):
        assert plain(function)(0.5) == function(0.5)


def test_the_prompt_of_python_keeps_no_source() -> None:
    space: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x * 2\n", "<stdin>", "exec"), space)
    for ask in (
        lambda: weft.compile(space["f"])(1.0),
        lambda: weft.script(space["f"]),
        lambda: weft.grad(space["f"])(1.0),
    ):
        with pytest.raises(CaptureError, match="f cannot be captured: Python's prompt keeps no source before") as found:
            ask()
        assert "IPython" in str(found.value)
