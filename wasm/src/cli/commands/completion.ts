// SPDX-License-Identifier: Apache-2.0

// dp-ftrl completion: prints a shell script generated from the commands' options and help.

import { load } from '../../index.js';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args } from '../options/args.js';
import type { Command, Commands } from '../options/command.js';
import { StandardOutput } from '../output/output.js';
import { bashScript, fishScript, zshScript } from './completion/scripts.js';
import { completedCommands } from './completion/table.js';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

export const command: Command = {
  summary: 'completion of commands, options and names in a shell',
  usage: SHELLS.join('|'),
  about:
    'Writes a script that completes commands, their options, and the names of mechanisms and other ' +
    'values.',
  details: [
    'bash: eval "$(dp-ftrl completion bash)" in ~/.bashrc. zsh: dp-ftrl completion zsh > ' +
      '~/.zfunc/_dp-ftrl, with ~/.zfunc in fpath. fish: dp-ftrl completion fish > ' +
      '~/.config/fish/completions/dp-ftrl.fish.',
  ],
  options: {},
  examples: ['dp-ftrl completion bash', 'dp-ftrl completion fish'],
  names: SHELLS,
  run,
};

async function run(args: Args, commands: Commands): Promise<void> {
  const [name, ...more] = args.files;
  if (name === undefined) throw new Misuse(`give a shell: ${SHELLS.join(', ')}`);
  if (more.length > 0) throw new Misuse(`give one shell, got ${args.files.length}`);
  const shell = SHELLS.find((each) => each === name);
  if (shell === undefined) throw unknownName('shell', name, SHELLS);
  const catalogue = (await load()).strategies;
  const completed = completedCommands(commands, catalogue);
  await new StandardOutput().write(SCRIPTS[shell](completed));
}
