"""Pictures: filters, histograms, dithering, regions."""

from __future__ import annotations

import numpy as np

from programs._program import program

SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


def _picture(*shape, dtype=np.uint8):
    return lambda rng: (rng.integers(0, 256, shape).astype(dtype),)


def filtered(image, kernel):
    rows, columns = image.shape
    out = np.zeros((rows - 2, columns - 2))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + rows - 2, j : j + columns - 2]
    return out


@program(
    arguments=_picture(7, 8),
    others=[_picture(3, 3), _picture(5, 4, dtype=np.float32), lambda rng: (np.zeros((6, 6), np.uint8),)],
)
def sobel_edges(image):
    """Edge strength scaled to bytes; an even picture has none and is not divided by zero."""
    grey = image.astype(np.float64)
    strength = np.hypot(filtered(grey, SOBEL_X), filtered(grey, SOBEL_X.T))
    top = strength.max()
    if top > 0:
        strength *= 255.0 / top
    return strength.astype(np.uint8)


@program(
    arguments=_picture(6, 7),
    others=[_picture(1, 1), _picture(4, 3, dtype=np.float64)],
)
def median_filter(image):
    """The middle of nine, with the edges repeated."""
    padded = np.pad(image, 1, mode="edge")
    out = np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            window = padded[i : i + 3, j : j + 3].flatten()
            window.sort()
            out[i, j] = window[4]
    return out


@program(
    arguments=lambda rng: (rng.random((8, 9)), 1.0),
    others=[lambda rng: (rng.random((2, 3)), 0.4), lambda rng: (rng.random((5, 5)).astype(np.float32), 0.7)],
)
def gaussian_blur(image, sigma):
    """Rows, then columns, with a kernel made on the spot."""
    reach = int(np.ceil(3 * sigma))
    x = np.arange(-reach, reach + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    padded = np.pad(image, ((0, 0), (reach, reach)), mode="edge")
    rows = np.stack([np.convolve(row, kernel, mode="valid") for row in padded])
    padded = np.pad(rows, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, kernel, mode="valid") for column in padded.T], axis=1)


@program(
    arguments=_picture(6, 6),
    others=[
        lambda rng: (np.full((3, 3), 7, np.uint8),),
        lambda rng: (rng.integers(100, 120, (4, 5)).astype(np.uint8),),
    ],
)
def equalise(image):
    histogram, _ = np.histogram(image.ravel(), bins=256, range=(0, 256))
    cdf = histogram.cumsum()
    lowest = cdf[cdf > 0].min()
    if lowest == image.size:
        return image
    table = np.round((cdf - lowest) / (image.size - lowest) * 255)
    return np.clip(table, 0, 255).astype(np.uint8)[image]


@program(
    arguments=lambda rng: (rng.random((6, 7)) * 255,),
    others=[lambda rng: (np.full((1, 1), 200.0),), lambda rng: ((rng.random((4, 4)) * 255).astype(np.float32),)],
)
def floyd_steinberg(image):
    """Dithering: the error of each pixel moves on to its neighbours."""
    rows, columns = image.shape
    for y in range(rows):
        for x in range(columns):
            old = image[y, x]
            new = 255.0 if old > 127.5 else 0.0
            image[y, x] = new
            error = old - new
            if x + 1 < columns:
                image[y, x + 1] += error * 7 / 16
            if y + 1 < rows:
                if x > 0:
                    image[y + 1, x - 1] += error * 3 / 16
                image[y + 1, x] += error * 5 / 16
                if x + 1 < columns:
                    image[y + 1, x + 1] += error * 1 / 16
    return image


@program(
    arguments=lambda rng: (rng.random((7, 7)) > 0.5, 3, 3),
    others=[
        lambda rng: (np.ones((4, 4), bool), 0, 0),
        lambda rng: (np.zeros((3, 3), bool), 1, 1),
        lambda rng: (np.eye(3, dtype=bool), 2, 2),
    ],
)
def flood_fill(mask, row, column):
    """The region of a point grows until it stands still."""
    region = np.zeros_like(mask)
    region[row, column] = mask[row, column]
    while True:
        grown = region.copy()
        grown[1:, :] |= region[:-1, :]
        grown[:-1, :] |= region[1:, :]
        grown[:, 1:] |= region[:, :-1]
        grown[:, :-1] |= region[:, 1:]
        grown &= mask
        if (grown == region).all():
            return region
        region = grown


@program(
    arguments=_picture(5, 6, 3),
    others=[_picture(1, 1, 3), _picture(4, 4, 3, dtype=np.float32)],
    features=["integer wrap-around"],
    trace=True,
)
def colours(image):
    """Grey levels, a negative in bytes, a brighter picture that wraps, and channels stacked in another order."""
    grey = image @ np.array([0.299, 0.587, 0.114])
    negative = 255 - image
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    return grey, negative, image + image, np.dstack((b, g, r))


@program(
    arguments=lambda rng: (rng.integers(0, 256, (6, 6)).astype(np.uint8),),
    others=[lambda rng: (np.array([[10, 10], [200, 200]], np.uint8),), lambda rng: (np.zeros((2, 2), np.uint8),)],
)
def otsu(image):
    """The threshold that parts dark from bright best; classes without pixels are passed over."""
    counts = np.bincount(image.ravel(), minlength=256)
    total = image.size
    weighted = np.dot(np.arange(256), counts)
    dark = dark_sum = 0
    best, threshold = -1.0, 0
    for level in range(256):
        dark += counts[level]
        if dark == 0:
            continue
        bright = total - dark
        if bright == 0:
            break
        dark_sum += level * counts[level]
        between = dark * bright * (dark_sum / dark - (weighted - dark_sum) / bright) ** 2
        if between > best:
            best, threshold = between, level
    return threshold


@program(
    arguments=lambda rng: (rng.random((5, 6)), 9, 4),
    others=[lambda rng: (rng.random((2, 2)), 1, 1), lambda rng: (rng.random((3, 4)).astype(np.float32), 3, 8)],
    trace=True,
)
def resize_bilinear(image, height, width):
    rows, columns = image.shape
    y = np.linspace(0, rows - 1, height)
    x = np.linspace(0, columns - 1, width)
    y0 = np.clip(np.floor(y).astype(int), 0, rows - 2)
    x0 = np.clip(np.floor(x).astype(int), 0, columns - 2)
    fy, fx = (y - y0)[:, np.newaxis], (x - x0)[np.newaxis, :]
    top = image[np.ix_(y0, x0)] * (1 - fx) + image[np.ix_(y0, x0 + 1)] * fx
    bottom = image[np.ix_(y0 + 1, x0)] * (1 - fx) + image[np.ix_(y0 + 1, x0 + 1)] * fx
    return top * (1 - fy) + bottom * fy
