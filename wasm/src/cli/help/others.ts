// SPDX-License-Identifier: Apache-2.0

// Full help of the remaining commands.

export const EXPERIMENT = `dp-ftrl experiment NAME [--result FILE.json] [--plot FILE.svg] [options]
dp-ftrl experiment --from FILE.json --plot FILE.svg

Reproduces a known result on private sums or private learning, prints the measurements, beside what
a formula predicts if there is one, and saves them: numbers as JSON, and a figure drawn from them.
Seeds are fixed, so the same run gives the same numbers. Synthetic data only.

  error-per-step   error of each prefix sum: tree, honaker, square-root, blt-normalized, optimal
  error-tail       largest error over all steps of a stream, and the bound that a share keeps to
  regret           regret against epsilon, all mechanisms on three streams
  tree-ratio       mean squared error of the binary tree over that of the square root
  sgd              DP-FTRL against DP-SGD with independent noise, at the same budget
  epochs           several passes: one factorization for all of them, or restarts with completion
  momentum         momentum and rates through an encoder made for them, or through post-processing
  lower-bound      how the certified lower bound approaches the errors
  learning         what learn chooses against the best settings in hindsight, on four tables

  --steps N        horizon; the longest one, or for epochs the length of a pass
  --repeats R      runs with different seeds, or amount of noise to measure
  --result FILE    the numbers
  --plot FILE      the picture
  --from FILE      draws a saved --result
  --json           prints the numbers
  --quiet          no progress

Examples:
  dp-ftrl experiment error-per-step --steps 64 --plot error.svg
  dp-ftrl experiment epochs --steps 16 --repeats 1 --result epochs.json
`;

export const BENCH = `dp-ftrl bench [--time MS] [--json]

Times releases, errors, a search and a calibration on this machine, and counts how many normals of
Math.random and Box-Muller fit into each.

  --time MS        approximate time for each measurement (default 200, at most 30000)
  --json           version, node, platform, arch, measurements: name, unit, nanoseconds (per unit,
                   the median of 5 rounds), perSecond, ratio (to the first measurement)

Examples:
  dp-ftrl bench --time 50
  dp-ftrl bench --time 10 --json
`;

export const PAGE = `dp-ftrl page [FILE.csv] [--port N]

Serves the interactive page of dp-ftrl on this machine and prints its address: streams, mechanisms
and their noise to explore, and FILE.csv (or standard input, as -) opened in its laboratory. It
shows true sums beside private ones, so it is for those who may see the rows. Only programs on this
machine can load it, and only with the printed address; the page itself contacts nobody. Ctrl-C
stops it.

  --port N         a fixed port of 127.0.0.1. Default: 0, any free one
  --quiet          nothing on standard error

Examples, with files of the package:
  dp-ftrl page
  dp-ftrl page examples/gym_visits.csv
`;

export const COMPLETION = `dp-ftrl completion bash|zsh|fish

Writes a script that completes commands, their options, and the names of mechanisms and other
values.

  bash             eval "$(dp-ftrl completion bash)" in ~/.bashrc
  zsh              dp-ftrl completion zsh > ~/.zfunc/_dp-ftrl, with ~/.zfunc in fpath
  fish             dp-ftrl completion fish > ~/.config/fish/completions/dp-ftrl.fish

Examples:
  dp-ftrl completion bash
  dp-ftrl completion fish
`;

export const EXAMPLE = `dp-ftrl example [NAME]

Writes an example table to standard output as CSV or, without NAME, the names of all.
examples/README.md of the package says what they are and where they come from.

Examples:
  dp-ftrl example shop_day
  dp-ftrl example shop_day | dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --column count
`;
