# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions shared by the scripts of this folder. Sourced, never run; $root is the checkout.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
toolchain="$root/.toolchain"
me=$(basename "$0")

say() { printf '%s: %s\n' "$me" "$*"; }
warn() { printf '%s: %s\n' "$me" "$*" >&2; }
die() {
  warn "$*"
  exit 2
}

# Quotes a text as one POSIX shell word, so that a path with a space or a quote survives in
# .toolchain/env.
quote() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# True when version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Hashes standard input; macOS has shasum instead of sha256sum.
hash_text() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64
}

# Writes standard input to file $1 atomically, but leaves an equal file (and its time stamp)
# unchanged.
write_if_changed() {
  local text
  text=$(cat)
  [ -f "$1" ] && [ "$(cat "$1")" = "$text" ] && return
  printf '%s\n' "$text" >"$1.new"
  mv "$1.new" "$1"
}

# Runs "$@" with its output in log file $1 (under .toolchain/log); shows its end if that fails.
# Must not be called in a condition, where bash ignores `set -e` inside a function given as "$@".
quietly() {
  local log="$toolchain/log/$1" status
  shift
  mkdir -p "$toolchain/log"
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1
  status=$?
  set -e
  [ "$status" -ne 0 ] || return 0
  tail -n 30 "$log" >&2
  warn "this failed (exit $status): $*; its whole output is in $log"
  return "$status"
}

# Prints the mirror that the host's apt uses for its own release.
apt_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016 # $(REPO_URI) is apt's own placeholder
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' \
    "Codename: $codename" | awk '!/^cdrom:/ && !found++'
}

# Loads the tools that scripts/setup chose, at least those for the page. A build needs nothing else
# from set-up.
load_toolchain() {
  [ -f "$toolchain/env" ] || "$root/scripts/setup" page
  # shellcheck source=/dev/null
  . "$toolchain/env"
}

# Loads the tools if they were set up for one of the named purposes (all, host, page), or else sets
# up all.
load_tools_for() {
  load_toolchain
  [[ " $* all " = *" ${DPFTRL_TOOLS:-} "* ]] || {
    "$root/scripts/setup"
    load_toolchain
  }
}
