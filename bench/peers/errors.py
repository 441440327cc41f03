# SPDX-License-Identifier: Apache-2.0
"""The one program that computes errors, from the strategies of either side alone.

A strategy is its Gram matrix X = C'C, which determines sensitivity and error, or, where C is
Toeplitz, its first column. Errors are root mean squares over the prefix sums (or the largest) at
unit noise multiplier.
"""

import numpy as np


def series_inverse(column):
    """First column of the inverse of a lower-triangular Toeplitz matrix, by Newton's iteration."""
    n = len(column)
    inverse = np.array([1 / column[0]])
    while len(inverse) < n:
        size = min(2 * len(inverse), n)
        product = convolve(column[:size], inverse, size)
        residual = -product
        residual[0] += 2
        inverse = convolve(inverse, residual, size)
    return inverse


def convolve(a, b, size):
    length = 1 << (len(a) + len(b)).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, length) * np.fft.rfft(b, length), length)
    return product[:size].copy()


def toeplitz_errors(column):
    """(mean, max) for one participation."""
    column = np.asarray(column, dtype=float)
    decoder = np.cumsum(series_inverse(column))
    variances = np.cumsum(decoder ** 2) * (column @ column)
    return np.sqrt(variances.mean()), np.sqrt(variances[-1])


def sensitivity_squared(gram, epochs):
    """Largest ||C u||^2 over one participation of size at most 1 per epoch, at the same position in
    each; the sum of magnitudes bounds all signs, and is attained where no entry is negative."""
    n = len(gram)
    period = n // epochs
    blocks = np.abs(gram).reshape(epochs, period, epochs, period)
    return np.einsum("aibi->i", blocks).max()


def gram_errors(gram, epochs=1):
    """(mean, max) of any strategy."""
    gram = np.asarray(gram, dtype=float)
    prefix = np.tril(np.ones_like(gram))
    variances = np.einsum("ij,ij->i", prefix, np.linalg.solve(gram, prefix.T).T)
    variances = variances * sensitivity_squared(gram, epochs)
    return np.sqrt(variances.mean()), np.sqrt(variances.max())


# --- Gram matrices and columns from the numbers of a saved strategy ---------------------------------


def our_gram(parameters, n):
    """Gram matrix of 'optimal' (docs/math/optimal.md): bands of C, or a sum of resolvents."""
    numbers = {name: np.array(values, dtype=float) for name, values in parameters.items()}
    if "columns" in numbers:
        bands = numbers["columns"].reshape(n, -1)
        encoder = np.zeros((n, n))
        for j, column in enumerate(bands):
            size = min(len(column), n - j)
            encoder[j:j + size, j] = column[:size]
        return encoder.T @ encoder
    v, u = numbers["columnWeights"], numbers["rowWeights"]
    step_back = np.eye(n) - numbers["decay"][0] * np.eye(n, k=-1)
    base = step_back @ np.diag(1 / u) @ step_back.T
    gram = np.diag(numbers["direct"][0] / v)
    for shift, weight in zip(numbers["shifts"], numbers["weights"]):
        gram += weight * np.linalg.inv(base + shift * np.diag(v))
    scale = 1 / np.sqrt(np.diag(gram))
    return gram * np.outer(scale, scale)


def buffered_column(decays, weights, n):
    """Column of a BLT: 1, then sums of weight * decay^(j-1)."""
    powers = np.power.outer(np.asarray(decays, float), np.arange(n - 1))
    return np.concatenate([[1.0], np.asarray(weights, float) @ powers])


def banded_column(coefficients, n):
    return np.concatenate([coefficients, np.zeros(n - len(coefficients))])
