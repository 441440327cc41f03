// SPDX-License-Identifier: Apache-2.0

// Help text shared by several commands.

/** Placeholders for the mechanisms in the catalogue and for their parameters. */
export const MECHANISMS = '@@mechanisms@@';
export const PARAMETERS = '@@parameters@@';

export const STRATEGY = `\
  --strategy FILE  a mechanism saved by dp-ftrl optimize, with its horizon, its workload and, unless
                   another one is given, its participation`;

export const PARTICIPATION = `\
  --epochs K       each user once in each of K epochs of N/K steps, always in the same place
  --participations K --min-separation S
                   each user at most K times, at steps i < j with j - i >= S.
                   Default: each user once`;

export const MODE = `\
  --mode MODE      grid (default): sums and noise are integers on a grid, safe against leaks in the
                   low bits of floating-point numbers. lattice: noisy integer measurements, decoded
                   afterwards; for tree, honaker, blt and others with an integer encoder
  --lattice-noise L  discrete-gaussian (default; zero-concentrated DP, so --budget needs
                   --budget-account rho), or rounded-gaussian (Gaussian DP, less noise)`;

export const WORKLOAD = `\
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file of numbers
                   without a header: a column of learning rates (FILE,momentum=B for rates with
                   momentum), or a square lower-triangular matrix`;

export const STATE = `\
  --state FILE     continues where the last run with this file stopped: the rows follow the earlier
                   ones, and all runs together are one release with horizon --steps. FILE holds the
                   key, the true sums and, with --user-column, a code of each person who counted: it
                   is as secret as the rows. Columns are those of the first run, by name. With
                   --time-column a run ends its last bucket, that of its last row or of --to; rows
                   in a bucket already released are refused
  --continue       with --state: refuses to begin, so that a FILE that was lost is noticed
  --first-step N   with --state: the input starts at step N, which is already released; the same
                   rows get the same releases again, and other rows are refused. Not with
                   --time-column, whose first run needs a row or --from`;

export const FORMAT = `\
  --format F       csv (default) or jsonl: format of the input and of the rows that are written,
                   unless the file name ends in .csv, .tsv, .jsonl or .ndjson. JSON lines have an
                   object per line; the keys of the first name the columns. A missing key or null is
                   an empty cell; a list or an object in a column that is used is refused
  --delimiter D    separator of CSV cells: comma, semicolon or tab (or the character itself).
                   Default: the most frequent one in the header, reported on standard error unless
                   it is a comma; a header with two of them equally often is refused`;

export const DECIMAL = `\
  --decimal D      decimal separator in CSV: point (default) or comma (13,8). With comma, cells with
                   a point are refused, as it may separate thousands`;

export const PLOT = `\
  --plot FILE      plots the releases with twice the standard deviation of their noise up and down:
                   FILE.svg, or FILE.html with the numbers as a table. It contains no true value.
                   Rows are still written to --output or standard output`;

export const NA = `\
  --na A,B,...     cells with one of these texts are missing, as empty ones always are:
                   NA,NaN,null,-. It concerns every column that is read`;

export const SKIPPED = `\
  --missing M      rows with a missing cell: refuse (default); skip: they are left out; zero: a
                   missing category is 0, if --domain lists that. With --other it is one of the
                   rest by default. A skipped row is protected like any other one, and adds nothing:
                   whether a row counts depends on that row alone
${NA}`;

export const TIME_FORMAT = `\
  --time-format F  format of times. Default: iso (2026-12-31, 2026/12/31 18:30, 2026-12, 2026) or
                   month-name (Dec 31 2026 6:30 PM, 31-Dec-2026), which are never confused. Others:
                   seconds or milliseconds since 1970, day-month-year (31.12.2026, 31/12/2026
                   18:30), month-day-year (12/31/2026 6:30 PM), log (31/Dec/2026:18:30:00 +0000). A
                   row in another format is refused, with the formats that would read it
  --time-zone Z    zone whose clocks show times without an offset, --from and --to, and by whose
                   clocks buckets begin: an IANA name such as Europe/Berlin, or an offset such as
                   +01:00. Default: UTC. A day has 23 or 25 hours when clocks are moved. A time
                   without an offset in an hour that is repeated is the first one; one that is
                   skipped is refused
  --sort           sorts rows by time: all are read before the first release, and kept in memory.
                   The guarantee is unchanged: the bucket of a row depends on its own time`;

export const USER_NUMBERS = `\
  --user-numbers   ids of persons are decimal numbers: 7, 7.0 and 007 are one person. Default: they
                   are texts: spaces around them do not count, nor how Unicode writes their letters
                   (NFC or NFD), but 7 and 007 are two persons, and so are Ann and ann. All runs of
                   a --state read them alike`;

export const FIRST_OF_PEOPLE = `\
  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. The first row of each person
                   counts, then each row at least S steps (default 1) after the last that counted,
                   up to K rows; only the first in a bucket counts. A small K leaves out later rows,
                   a large K adds noise, about in proportion
${USER_NUMBERS}`;

export const COUNTED = `\
  --user-column ID --max-contributions K
                   protects persons: column ID says whose row it is. The first K rows of each person
                   count; memory grows with the number of persons. Needs zero-out neighbours
${USER_NUMBERS}`;
