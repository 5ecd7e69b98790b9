"""Cases of `ops/contraction.py`."""

import numpy as np
from cases import case, integers, normal

C = np.complex128

for subscripts, *shapes in [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ji,jk", (3, 2), (3, 2)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("bij,bjk->kib", (2, 2, 3), (2, 3, 2)),
    ("i,i->", (3,), (3,)),
    ("i,j->ij", (3,), (2,)),
    ("i,i->i", (3,), (3,)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ba", (2, 3)),
    ("ii->", (3, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("iji->j", (2, 3, 2)),
    ("jii->ij", (3, 2, 2)),
    ("iii->i", (2, 2, 2)),
    ("iii->", (2, 2, 2)),
    ("ijij->", (2, 3, 2, 3)),
    ("ijji->ij", (2, 3, 3, 2)),
    ("ii,i->i", (3, 3), (3,)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("ij,k->i", (2, 3), (2,)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("...ij,...jk->...ik", (2, 1, 2, 2), (3, 2, 2)),
    ("...ij,...jk", (2, 2, 3), (2, 3, 2)),
    ("i...,i...->...", (2, 3), (2, 3)),
    ("...,...", (2, 1), (3,)),
    ("...i->...", (2, 3)),
    ("i...i->...", (2, 3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("ij,jk,ki->", (2, 3), (3, 2), (2, 2)),
    ("a,ab,abc->c", (2,), (2, 2), (2, 2, 3)),
    (" i j , j -> i ", (2, 3), (3,)),
    ("ij,j->i", (2, 3), (1,)),  # NumPy lets a dimension of one broadcast
    ("ii,i->i", (1, 1), (3,)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    (",->", (), ()),
]:
    for dtype in (np.float64, C):
        case("einsum", subscripts, *(normal(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes)), ref=np.einsum)

case("einsum", "ij,jk->ik", normal(2, 3), normal(3, 2, dtype=C), ref=np.einsum)
case("einsum", "ij,jk->ik", normal(2, 3, dtype=np.float32), normal(3, 2, dtype=np.float32), ref=np.einsum, _rtol=1e-6)
case("einsum", "ij->i", normal(2, 3, dtype=np.float16), ref=np.einsum, _rtol=2e-3)
case("einsum", "ij,jk->ik", integers(0, 9, 2, 3, dtype=np.int8), integers(0, 9, 3, 2, dtype=np.int8), ref=np.einsum)
case("einsum", "ij,j->i", integers(0, 2, 2, 3, dtype=bool), integers(0, 2, 3, dtype=bool), ref=np.einsum)
case("einsum", "ij,jk->ik", normal(2, 3), normal(3, 2), optimize=False, ref=np.einsum)

# The interleaved form.
case("einsum", normal(2, 3), [0, 1], normal(3, 2), [1, 2], [0, 2], ref=np.einsum)
case("einsum", normal(2, 3), [0, 1], normal(3, 2), [1, 2], ref=np.einsum)
case("einsum", normal(3, 2), [5, 1], ref=np.einsum)
case("einsum", normal(3, 3), [0, 0], [], ref=np.einsum)
case("einsum", normal(2, 2, 3), [..., 0, 1], normal(3), [1], [..., 0], ref=np.einsum)

case("contract", "bij,bjk->bik", normal(2, 2, 3), normal(2, 3, 2), ref=np.einsum)
case("contract", "ii->i", normal(3, 3, dtype=C), ref=np.einsum)
