// SPDX-License-Identifier: Apache-2.0

// Full help of the remaining commands.

export const PAGE = `dp-ftrl page [FILE.csv] [--port N]

Serves the interactive page of dp-ftrl on this machine and prints its address: streams, mechanisms
and their noise to explore, and FILE.csv (or standard input, as -) opened in its laboratory. It
shows true sums beside private ones, so it is for those who may see the rows. Only programs on this
machine can load it, and only with the printed address; the page itself sends nothing. Ctrl-C
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
