"""The function itself runs where the program catches what is raised, if the calls of libraries left nothing behind."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

GIVEN = np.array([[2.0, 1.0], [0.0, 3.0]])
RAISES = [np.eye(2), np.zeros((2, 2)), np.eye(2)]

TABLES = """
class Table:
    def __init__(self, columns):
        self.columns = columns

    def astype(self, kind):
        return kind(self.columns[0])

    def drop(self, column):
        return Table([one for one in self.columns if one != column])

    def to_csv(self):
        print(self.columns)


def read_csv(path):
    with open(path) as file:
        return Table(file.read().split(","))


def read_sql(path):
    return read_csv(path)
"""


def inverse_or_itself(x: Any, y: Any) -> Any:
    try:
        return np.linalg.inv(x) + y
    except np.linalg.LinAlgError:
        return x - y


def tells(real: Any, imaginary: Any = 0.0) -> bool:
    print("asked")
    return bool(abs(real) < 2.5)


COMPUTES = {
    "lfilter": lambda x, a: inverse_or_itself(x, scipy.signal.lfilter([1.0], [1.0, 0.5], a)),
    "inv": lambda x, a: inverse_or_itself(x, scipy.linalg.inv(a, overwrite_a=False)),
    "fft": lambda x, a: inverse_or_itself(x, scipy.fft.dct(a)),
    "path": lambda x, a: inverse_or_itself(x, a + len(Path(__file__).resolve().read_text())),
}
LEAVES = {
    "overwrites": lambda x, a: inverse_or_itself(x, scipy.linalg.inv(a, overwrite_a=True)),
    "overwrites by position": lambda x, a: inverse_or_itself(x, scipy.linalg.inv(a, True)),
    "draws": lambda x, a: inverse_or_itself(x, scipy.linalg.clarkson_woodruff_transform(a, 2)),
    "prints": lambda x, a: inverse_or_itself(x, scipy.linalg.signm(a)),
    "calls the program": lambda x, a: inverse_or_itself(x, scipy.linalg.schur(a, sort=tells)[0]),
    "calls a lambda": lambda x, a: inverse_or_itself(
        x, scipy.linalg.schur(a, sort=lambda r, i=0: tells(r) and x[0, 0] < 9)[0]
    ),
}


@pytest.mark.parametrize("name", COMPUTES)
def test_what_only_computes_may_be_run_again(name: str) -> None:
    program: Any = COMPUTES[name]
    compiled = weft.compile(program)
    for x in RAISES:
        assert_same(call(compiled, (x, GIVEN.copy())), call(program, (x, GIVEN.copy())))


@pytest.mark.parametrize("name", LEAVES)
def test_what_leaves_something_behind_is_not_run_again(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = np.asfortranarray(GIVEN)
    with pytest.raises(CaptureError, match="that may catch what it raises"):
        weft.compile(LEAVES[name])(np.zeros((2, 2)), given)
    np.testing.assert_array_equal(given, GIVEN)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "pandas.py").write_text(TABLES)
    (tmp_path / "a.csv").write_text("1,2")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    yield importlib.import_module("pandas")
    del sys.modules["pandas"]


@pytest.mark.parametrize("columns", [["3"], ["4", "none"]])
def test_a_table_that_is_read_and_changed(tables: Any, tmp_path: Path, columns: list[str]) -> None:
    path = str(tmp_path / "a.csv")

    def program() -> Any:
        table = tables.read_csv(path)
        table.columns = list(columns)
        table = table.drop("4")
        try:
            return table.astype(float)
        except ValueError:
            return -1.0

    def asks_a_server() -> Any:
        table = tables.read_sql(path)
        try:
            return table.astype(float)
        except ValueError:
            return -1.0

    def writes() -> Any:
        table = tables.read_csv(path)
        table.to_csv()
        try:
            return table.astype(float)
        except ValueError:
            return -1.0

    compiled = weft.compile(program)
    assert [compiled(), compiled()] == [program()] * 2
    for refused in (asks_a_server, writes):
        with pytest.raises(CaptureError, match="that may catch what it raises"):
            weft.compile(refused)()
