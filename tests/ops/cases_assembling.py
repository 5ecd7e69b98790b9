"""Cases of `ops/assembling.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X = normal(3, 4)

for shape in ((), (3,), (2, 3), (2, 3, 2), (1, 2, 1, 2)):
    case("atleast_3d", normal(*shape), ref=np.atleast_3d)
case("dstack", [normal(3), normal(3, seed=1)], ref=np.dstack)
case("dstack", (normal(2, 3), normal(2, 3, 2)), ref=np.dstack)
case("dstack", [normal(), integers(0, 9)], ref=np.dstack)
case("column_stack", [normal(3), normal(3, 2), integers(0, 9, 3)], ref=np.column_stack)
case("column_stack", (normal(), normal(seed=1)), ref=np.column_stack)
case("column_stack", [normal(0), normal(0)], ref=np.column_stack)
case("block", [normal(2), normal(3)], ref=np.block)
case("block", [[normal(2, 2), normal(2, 1)], [normal(1, 2), 7.0 * np.ones((1, 1))]], ref=np.block)
case("block", [[normal(2)], [normal(2, seed=1)]], ref=np.block)
case("block", [[normal(1, 2, 2), normal(1, 2, 1)]], ref=np.block)
case("block", normal(2, 3), ref=np.block)
case("append", X, normal(2), ref=np.append)
case("append", X, normal(2, 4), 0, ref=np.append)
case("append", X, normal(3, 1), axis=-1, ref=np.append)
case("append", integers(0, 9, 3), 1.5, ref=np.append)

case("insert", normal(5), 2, 9.0, ref=np.insert)
case("insert", normal(5), -1, normal(3), ref=np.insert)
case("insert", normal(5), [2], normal(1), ref=np.insert)
case("insert", normal(5), [1, 3, 3], normal(3), ref=np.insert)
case("insert", normal(5), [4, -2, 0], 7.5, ref=np.insert)
case("insert", normal(5), slice(1, 4), normal(3), ref=np.insert)
case("insert", normal(5), np.array([0, 5]), 1.0, ref=np.insert)
case("insert", normal(5), [], normal(0), ref=np.insert)
case("insert", X, 1, normal(4), axis=0, ref=np.insert)
case("insert", X, 1, normal(3), axis=1, ref=np.insert)
case("insert", X, [1], normal(3, 1), axis=1, ref=np.insert)
case("insert", X, [1, 2], normal(3, 2), axis=-1, ref=np.insert)
case("insert", X, 5, 0.5, ref=np.insert)
case("insert", integers(0, 9, 4), 1, 2.7, ref=np.insert)
case("delete", normal(5), 2, ref=np.delete)
case("delete", normal(5), -1, ref=np.delete)
case("delete", normal(5), [0, 2, 2], ref=np.delete)
case("delete", normal(5), slice(None, None, 2), ref=np.delete)
case("delete", normal(5), np.array([True, False, True, False, False]), ref=np.delete, _infer=False)
case("delete", X, 1, 0, ref=np.delete)
case("delete", X, [0, -1], axis=1, ref=np.delete)
case("delete", X, 7, ref=np.delete)
case("delete", normal(3), [], ref=np.delete)
case("resize", X, (2, 3), ref=np.resize)
case("resize", X, 17, ref=np.resize)
case("resize", normal(3), (2, 4), ref=np.resize)
case("resize", normal(0), (2, 2), ref=np.resize)
case("resize", X, (0, 3), ref=np.resize)

for name in ("array_split", "split_to_list"):
    ref = np.array_split if name == "array_split" else np.split
    case(name, normal(6), 3, ref=ref)
    case(name, normal(6), [1, 4], ref=ref)
    case(name, X, (1, 2), axis=1, ref=ref)
    case(name, X, np.array([2]), -1, ref=ref)
case("array_split", normal(7), 3, ref=np.array_split)
case("array_split", normal(2), 4, ref=np.array_split)
case("hsplit", X, 2, ref=np.hsplit)
case("hsplit", normal(4), [1], ref=np.hsplit)
case("vsplit", X, 3, ref=np.vsplit)
case("vsplit", X, [1], ref=np.vsplit)
case("dsplit", normal(2, 1, 4), 2, ref=np.dsplit)

case("fliplr", X, ref=np.fliplr)
case("flipud", X, ref=np.flipud)
case("flipud", normal(3), ref=np.flipud)
for axis in (-1, 0, 1):
    for start in (0, 1, 3, -1):
        case("rollaxis", normal(2, 3, 4), axis, start, ref=np.rollaxis, _order=1)
