# SPDX-License-Identifier: Apache-2.0
"""Private learning of linear classifiers in NumPy, many settings at once, to compare ours with.

A setting is (clip share, way, noise): gradients are clipped to `clip share` of the longest possible
gradient, all steps together move the weights by at most `way`, and `noise` is the standard
deviation of the noise increments, divided by the clip norm and by the entries of `increments`. Rows
have length at most 1: features in [-1, 1] and a 1, divided by the root of their number.
"""

import numpy as np


def rows_of(features):
    """Returns rows of length at most 1, which end with the feature of the intercept."""
    with_one = np.hstack([features, np.ones((len(features), 1))])
    return (with_one / np.sqrt(with_one.shape[1])).astype(np.float32)


def num_scores(labels):
    """Returns the number of scores: 1 for two classes, otherwise the number of classes."""
    classes = int(labels.max()) + 1
    return 1 if classes == 2 else classes


def longest(scores):
    return 1.0 if scores == 1 else np.sqrt(2.0)


def targets(labels, scores):
    if scores == 1:
        return (labels == 1).astype(np.float32)[:, None, None]
    return np.eye(scores, dtype=np.float32)[labels][:, None, :]


def slopes_of(predictions, wanted):
    """Returns slopes of the logistic or softmax loss; predictions are rows x settings x scores."""
    if predictions.shape[2] == 1:
        return 1 / (1 + np.exp(-np.clip(predictions, -80, 80))) - wanted
    largest = predictions.max(axis=2, keepdims=True)
    shares = np.exp(predictions - largest)
    shares /= shares.sum(axis=2, keepdims=True)
    return shares - wanted


def learn(rows, labels, settings, batches, increments, random, momentum=0.0, expected=None):
    """Returns weights, features x settings x scores, averaged over the second half of the steps.

    batches: the rows of each step, or None for all rows.
    increments: a matrix of (steps, steps), or the single number on its diagonal.
    expected: number of rows per step, if not all rows.
    """
    scores = num_scores(labels)
    clip, way, noise = (np.array(column, dtype=np.float32)[None, :, None]
                        for column in zip(*settings))
    clip = clip * np.float32(longest(scores))
    wanted = targets(labels, scores)
    lengths = np.linalg.norm(rows, axis=1)[:, None, None].astype(np.float32)
    num_steps = len(batches)
    batch_size = len(rows) if expected is None else expected
    shape = (rows.shape[1], clip.shape[1], scores)
    one = (rows.shape[1], 1, scores)
    if np.ndim(increments) == 0:
        noises = (increments * random.normal(size=one).astype(np.float32) for _ in batches)
    else:
        normals = random.normal(size=(num_steps, rows.shape[1] * scores))
        noises = (each.reshape(one) for each in (increments @ normals).astype(np.float32))
    weights = np.zeros(shape, dtype=np.float32)
    velocity, total = np.zeros_like(weights), np.zeros_like(weights)
    rate = (1 - momentum) * way / (num_steps * clip * batch_size)
    for step, (batch, fresh) in enumerate(zip(batches, noises)):
        x, y, norm = ((rows, wanted, lengths) if batch is None else
                      (rows[batch], wanted[batch], lengths[batch]))
        slopes = slopes_of((x @ weights.reshape(len(weights), -1)).reshape(len(x), *shape[1:]), y)
        sizes = norm * (np.abs(slopes) if scores == 1 else
                        np.sqrt(np.einsum("nsk,nsk->ns", slopes, slopes))[:, :, None])
        slopes *= np.minimum(1, clip / np.maximum(sizes, 1e-20))
        gradient = (x.T @ slopes.reshape(len(x), shape[1] * scores)).reshape(shape)
        velocity = momentum * velocity + gradient + clip * noise * fresh
        weights = weights - rate * velocity
        if 2 * (step + 1) > num_steps:
            total += weights
    return total / (num_steps - num_steps // 2)


def accuracies(weights, rows, labels):
    """Returns the share of correctly predicted rows for each setting."""
    predictions = (rows @ weights.reshape(len(weights), -1)).reshape(len(rows), *weights.shape[1:])
    if predictions.shape[2] == 1:
        read = predictions[:, :, 0] >= 0
    else:
        read = predictions.argmax(axis=2)
    return (read == labels[:, None]).mean(axis=0)
