#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a file of dp-ftrl claims, with no code of dp-ftrl: docs/certificates.md.

    usage: verify_certificate.py [--strategy SAVED.json | --encoder C.csv]
                                  [--workload WORKLOAD.json] [FILE.json ...]

Reads files, or standard input: the JSON of `dp-ftrl optimize`, `error`, `release` or `calibrate`.
A saved strategy is checked as well, because what it says of itself may contradict the files.
Prints one line per claim: proved, false or "cannot check" with the reason, and remarks, which are
no claims. Exit status 0 if all claims are proved, 1 if one is false, else 2.
Needs Python 3.11 or newer and mpmath (Debian: python3-mpmath).
"""

import argparse
import sys
from math import isfinite

from certificates.claims import verify
from certificates.forms import parse


def read(name):
    if name == "-":
        return parse(sys.stdin.read())
    with open(name, encoding="utf8") as file:
        return parse(file.read())


def read_encoder(name):
    """Rows of a lower-triangular C, each of full length or up to the diagonal."""
    with open(name, encoding="utf8") as file:
        rows = [[float(cell) for cell in line.split(",")] for line in file.read().split()]
    for i, row in enumerate(rows):
        if len(row) not in (i + 1, len(rows)) or any(row[i + 1:]) or not all(map(isfinite, row)):
            raise ValueError(f"row {i + 1} of {name} is none of a lower-triangular matrix")
    return rows


class Once(argparse.Action):
    """Takes an option that must not be given twice: the first file would not be read."""

    def __call__(self, parser, namespace, value, option=None):
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} is given twice")
        setattr(namespace, self.dest, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--strategy", action=Once,
                        help="saved strategy that the certificates are about")
    parser.add_argument("--encoder", action=Once, help="CSV of the C that the certificates are about")
    parser.add_argument("--workload", action=Once, help="JSON of a workload that is only named")
    parser.add_argument("files", nargs="*", default=["-"])
    options = parser.parse_args()
    if options.strategy is not None and options.encoder is not None:
        parser.error("--strategy and --encoder do not go together")
    worst = 0
    own = [options.strategy] if options.strategy is not None else []
    for i, name in enumerate([*own, *options.files]):
        try:
            workload = read(options.workload) if options.workload is not None else None
            strategy = read(own[0]) if own and i > 0 else None
            encoder = read_encoder(options.encoder) if options.encoder is not None else None
            report = verify(read(name), strategy, workload, encoder)
        except (OSError, ValueError, RecursionError) as error:
            print(f"{name}: cannot be read: {type(error).__name__}: {error}", file=sys.stderr)
            worst = max(worst, 2, key=[0, 2, 1].index)
            continue
        for claim, verdict, reason in report.lines:
            where = f"{name}: " if len(own) + len(options.files) > 1 else ""
            print(f"{where}{verdict:12}  {claim}" + (f"  ({reason})" if reason else ""))
        worst = max(worst, report.status, key=[0, 2, 1].index)
    sys.exit(worst)


if __name__ == "__main__":
    main()
