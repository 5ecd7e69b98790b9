"""Benchmarks: weft beside torch.fx and jax, in one process and one run. `make bench` prints them."""
