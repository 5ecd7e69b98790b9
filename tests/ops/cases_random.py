"""Cases of `ops/random.py` and `ops/choices.py`: shape, dtype and range. What is drawn is tested in `tests/random/`."""

import numpy as np
from cases import case, normal, uniform


def drawn(shape, dtype=np.float64, low=-np.inf, high=np.inf):
    """A check that ignores the arguments of the call: the result has this shape and dtype and lies in [low, high]."""

    def check(result, *args, **kwargs):
        assert result.shape == shape and result.dtype == dtype
        assert np.all((result >= low) & (result <= high))

    return check


def random_case(name, *args, check, **kwargs):
    # Each call draws other numbers, so differences of two calls say nothing; tests/random/ has the gradients.
    case(name, *args, _check=check, _grad=False, **kwargs)


for name, low, high in (
    ("standard_uniform", 0, 1),
    ("standard_normal", -9, 9),
    ("standard_exponential", 0, 40),
    ("standard_gumbel", -4, 40),
):
    random_case(name, check=drawn((), low=low, high=high))
    random_case(name, (2, 3), np.float32, check=drawn((2, 3), np.float32, low, high))
    random_case(name, [2, 0], dtype=np.float16, check=drawn((2, 0), np.float16, low, high))

for name in ("uniform", "normal", "gumbel"):
    random_case(name, (2, 3), 1.0, 2, check=drawn((2, 3)))
    random_case(name, (2, 3), uniform(0, 1, 3), uniform(1, 2, 2, 1), check=drawn((2, 3)))
    random_case(name, None, np.float32([0.5]), 2.0, check=drawn((1,), np.float32))
    random_case(name, 4, dtype=np.float16, check=drawn((4,), np.float16))

random_case("exponential", (2, 3), check=drawn((2, 3), low=0))
random_case("exponential", scale=uniform(0, 1, 3), check=drawn((3,), low=0))
random_case("truncated_normal", (2, 3), 1.0, 2.0, 0.0, 1.5, np.float32, check=drawn((2, 3), np.float32, 0, 1.5))
random_case("rand_like", normal(2, 3, dtype=np.float32), check=drawn((2, 3), np.float32, 0, 1))
random_case("rand_like", np.arange(3), dtype=np.float64, check=drawn((3,), low=0, high=1))
random_case("randn_like", normal(2, 3), check=drawn((2, 3), low=-9, high=9))
random_case("bernoulli", uniform(0, 1, 2, 3), check=drawn((2, 3), low=0, high=1))
random_case("bernoulli", 0.5, (2, 2), np.float32, check=drawn((2, 2), np.float32, 0, 1))
random_case("poisson", np.float32([1.0, 30.0]), (3, 2), check=drawn((3, 2), np.float32, 0))
random_case("standard_gamma", uniform(0.1, 4, 2, 3), check=drawn((2, 3), low=0))
random_case("gamma", uniform(0.1, 4, 2, 1), uniform(0.1, 4, 3), check=drawn((2, 3), low=0))
random_case("beta", uniform(0.1, 4, 2, 1), 2.0, (2, 3), check=drawn((2, 3), low=0, high=1))
random_case("integers", 3, check=drawn((), np.int64, 0, 2))
random_case("integers", -3, 9, (2, 3), np.int8, check=drawn((2, 3), np.int8, -3, 8))
random_case("randperm", 5, check=drawn((5,), np.int64, 0, 4))
random_case("permutation", 5, check=drawn((5,), np.int64, 0, 4))
random_case("permutation", normal(2, 3), axis=1, check=drawn((2, 3)))
random_case("choice_indices", 5, (2, 2), False, check=drawn((2, 2), np.int64, 0, 4))
random_case("choice", 5, (2, 2), p=uniform(0, 1, 5), check=drawn((2, 2), np.int64, 0, 4))
random_case("choice", normal(4, 5, 2), (2, 3), axis=1, check=drawn((4, 2, 3, 2)))
random_case("multinomial", uniform(0.1, 1, 2, 3), 2, check=drawn((2, 2), np.int64, 0, 2))
random_case("multinomial", uniform(0.1, 1, 3), 5, True, check=drawn((5,), np.int64, 0, 2))
random_case("categorical", normal(2, 3), check=drawn((2,), np.int64, 0, 2))
random_case("categorical", normal(2, 3), (4,), 0, check=drawn((4, 3), np.int64, 0, 1))
