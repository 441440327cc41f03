// SPDX-License-Identifier: Apache-2.0

// Help text shared by several commands.

/** Placeholders for the mechanisms in the catalogue and for their parameters. */
export const MECHANISMS = '@@mechanisms@@';
export const PARAMETERS = '@@parameters@@';

export const STRATEGY = `\
  --strategy FILE  a mechanism that dp-ftrl optimize saved, with its horizon, workload and, unless
                   another one is given, participation`;

export const PARTICIPATION = `\
  --epochs K       each user once in each of K epochs of N/K steps, always at the same place
  --participations K --min-separation S
                   each user at most K times, at steps i < j with j - i >= S.
                   Default: each user once`;

export const MODE = `\
  --mode MODE      grid (default): sums and noise are integers on a grid, safe against the low bits
                   of floating-point numbers. lattice: noisy integer measurements, decoded
                   afterwards; with tree, honaker, blt and others that have an integer encoder
  --lattice-noise L  discrete-gaussian (default; zero-concentrated DP: a --budget for it needs
                   --budget-account rho), or rounded-gaussian (Gaussian DP, less noise)`;

export const WORKLOAD = `\
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file of numbers
                   without header: a column of learning rates (FILE,momentum=B for rates with
                   momentum), or a square lower-triangular matrix`;

export const STATE = `\
  --state FILE     goes on where the last run with this file stopped: its rows follow those before,
                   and all runs together are one release with horizon --steps. FILE holds the key,
                   the true sums, and of --user-column whose rows counted: as secret as the rows.
                   Columns are those of the first run, found by their names in any order.
                   With --time-column a run ends its last bucket, which is that of its last row or
                   of --to; rows of a bucket that is released are refused
  --first-step N   with --state: the first row is that of step N, released before; the same rows
                   get the same releases again, and others are refused. Not with --user-column,
                   --time-column`;

export const FORMAT = `\
  --format F       csv (default) or jsonl: of the table and of rows that are written, where no name
                   of a file says so (.csv, .tsv, .jsonl, .ndjson). JSON lines have an object a
                   line; the keys of the first name the columns. A missing key or null is an empty
                   cell, and a list or an object in a column that is needed is refused
  --delimiter D    of CSV: comma, semicolon or tab (or the character itself), which separates cells.
                   Default: what the header has most of, named on standard error where it is no
                   comma; a header that has two of them equally often is refused`;

export const DECIMAL = `\
  --decimal D      of CSV: point (default), or comma, which numbers then have before their fraction
                   (13,8); cells with a point are refused then, as it may part thousands`;

export const PLOT = `\
  --plot FILE      draws what is released, with twice the standard deviation of its noise up and
                   down: FILE.svg, or FILE.html with the numbers as a table. No true value is in it.
                   Rows are written all the same, to --output or standard output`;

export const SKIPPED = `\
  --missing M      rows with an empty cell: refuse (default), or skip, which leaves them out. The
                   guarantee stays: whether a row counts follows from that row alone`;

export const TIME_FORMAT = `\
  --time-format F  how times are written: iso (default), seconds or milliseconds since 1970,
                   day-month-year (31.12.2026, 31/12/2026 18:30), month-day-year (12/31/2026 6:30
                   PM), or log (31/Dec/2026:18:30:00 +0000), UTC unless there is an offset. A row of
                   another one is refused with the formats that would read it. --from and --to are
                   always ISO 8601`;

export const FIRST_OF_PEOPLE = `\
  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. Of each person the first row
                   counts, and then each at least S steps (default 1) after the last that counted,
                   until K have; of several in a bucket the first counts. A small K leaves out
                   later rows, a large K adds noise, about in proportion`;

export const COUNTED = `\
  --user-column ID --max-contributions K
                   protects persons: column ID says whose row it is. Of each person the first K
                   rows count; memory grows with the number of persons. With zero-out neighbours`;
