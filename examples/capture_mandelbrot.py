"""Capture a Mandelbrot set computed number by number: loops stay loops, both sides of a branch are kept."""

from __future__ import annotations

import numpy as np

import weft


def escape_time(c, limit):
    """Steps until z = z² + c leaves the circle of radius 2; the limit where it stays."""
    z = 0j
    for step in range(limit):
        if z.real * z.real + z.imag * z.imag > 4.0:
            return step
        z = z * z + c
    return limit


def mandelbrot(width, height, limit):
    image = np.zeros((height, width), dtype=np.int64)
    for row in range(height):
        for column in range(width):
            c = complex(-2.2 + 3.0 * column / width, -1.2 + 2.4 * row / height)
            image[row, column] = escape_time(c, limit)
    return image


def control_flow(graph: weft.Graph, depth: int = 1) -> None:
    """Print the loops and branches of a graph, and those in their bodies."""
    for node in graph.nodes:
        if node.bodies:
            location = node.location
            place = f"line {location.line}: {location.text}" if location else ""
            print("  " * depth + f"{node.target.__name__:<11} {place}")
        for body in node.bodies:
            control_flow(body, depth + 1)


def main() -> None:
    print("From source alone, for every limit and every size of number:")
    scripted = weft.script(escape_time)
    print(scripted.code.strip())
    print("escape_time(0.4+0.4j, 100) =", scripted(0.4 + 0.4j, 100), "and", escape_time(0.4 + 0.4j, 100))

    print("\nThe whole picture, its helper included, as one graph:")
    compiled = weft.compile(mandelbrot)
    image = compiled(54, 18, 30)
    control_flow(compiled.graph)
    for line in image:
        print("  " + "".join(" .,:;+*%#@"[min(int(value) // 3, 9)] for value in line))
    print("Same as plain Python:", np.array_equal(image, mandelbrot(54, 18, 30)))

    compiled(8, 8, 12)
    print("Another size and another limit:", compiled.cache_info())


if __name__ == "__main__":
    main()
