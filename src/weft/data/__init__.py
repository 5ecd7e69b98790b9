"""Data: datasets, samplers, `DataLoader`, and `pipeline` with its steps.

>>> from weft import data
>>> loader = data.DataLoader(data.ArrayDataset(x=[[1.0], [2.0], [3.0]]), batch_size=2)
>>> [batch["x"].shape for batch in loader]
[(2, 1), (1, 1)]

Batches and pipelines depend on seeds, never on the number of threads or processes that make them.
"""

from weft._listing import listing as _listing
from weft.data._collate import default_collate, default_uncollate
from weft.data._datasets import (
    ArrayDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from weft.data._images import crop, flip, normalise, one_hot, pad, random_crop, random_flip, tile
from weft.data._loader import DataLoader
from weft.data._pipeline import Pipeline, pipeline
from weft.data._progress import progress
from weft.data._samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from weft.data._steps import Batch, Filter, Map, Prefetch, Repeat, Shuffle, Skip, Source, Take, Unbatch
from weft.data._transforms import Crop, Flip, Normalise, OneHot, Pad, Tile
from weft.data._worker_info import WorkerInfo, get_worker_info

# fmt: off
__all__ = [
    "Dataset", "IterableDataset", "ArrayDataset", "TensorDataset", "Subset", "ConcatDataset", "random_split",
    "Sampler", "SequentialSampler", "RandomSampler", "BatchSampler",
    "DataLoader", "default_collate", "default_uncollate", "WorkerInfo", "get_worker_info",
    "Pipeline", "pipeline", "Source",
    "Map", "Filter", "Shuffle", "Batch", "Unbatch", "Repeat", "Prefetch", "Take", "Skip",
    "Tile", "Crop", "Pad", "Flip", "Normalise", "OneHot",
    "tile", "crop", "random_crop", "pad", "flip", "random_flip", "normalise", "one_hot", "progress",
]
# fmt: on

__dir__ = _listing(__name__)
