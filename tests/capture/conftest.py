"""The tests of capture share the comparison of outcomes with the corpus, and a writer of random programs."""

from __future__ import annotations

import sys
from pathlib import Path

for _folder in (Path(__file__).parents[1], Path(__file__).parent):
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))
