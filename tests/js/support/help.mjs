// SPDX-License-Identifier: Apache-2.0

// The commands and their options, as the command itself lists them.

import { dpFtrl } from './consumer.mjs';

/** Names of all commands, in the order of the main help. */
export async function commandNames() {
  const { stdout } = await dpFtrl(['--help']);
  return [...stdout.matchAll(/^ {2}dp-ftrl ([a-z]+) +(?![A-Z-])/gm)].map(([, name]) => name);
}

/** Options of a help text: names without dashes, and the placeholder of the value, if any. */
export function optionsIn(help) {
  const found = help.matchAll(/^ {2}--([a-z][a-z0-9-]*)(?: (\S+))?(?: {2}|$)/gm);
  return [...found].map(([, name, value]) => ({ name, value }));
}

/** Options of a command, as `--help all` lists them. */
export async function optionsOf(command) {
  return optionsIn((await dpFtrl([command, '--help', 'all'])).stdout);
}
