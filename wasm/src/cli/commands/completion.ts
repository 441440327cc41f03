// SPDX-License-Identifier: Apache-2.0

// dp-ftrl completion: prints a shell script generated from the commands' options and help.

import { load } from '../../index.js';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args, Known } from '../options/args.js';
import { StandardOutput } from '../output/output.js';
import { bashScript, fishScript, zshScript } from './completion/scripts.js';
import { completedCommands, SHELLS } from './completion/table.js';

export const options: Known = {};

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** @param commands  all commands, by name. */
export async function run(
  args: Args,
  commands: Readonly<Record<string, { options: Known }>>,
): Promise<void> {
  const [name, ...more] = args.files;
  if (name === undefined) throw new Misuse(`give a shell: ${SHELLS.join(', ')}`);
  if (more.length > 0) throw new Misuse(`give one shell, got ${args.files.length}`);
  const shell = SHELLS.find((each) => each === name);
  if (shell === undefined) throw unknownName('shell', name, SHELLS);
  const catalogue = (await load()).strategies;
  const completed = completedCommands(commands, catalogue);
  await new StandardOutput().write(SCRIPTS[shell](completed));
}
