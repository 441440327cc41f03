// SPDX-License-Identifier: Apache-2.0

// Writes the man page when the package is built.

import type { StrategyInfo } from '../types/all.js';
import { COMMANDS } from './commands/all.js';
import { manPage } from './help/man.js';

export function pageFor(version: string, catalogue: readonly StrategyInfo[]): string {
  return manPage(version, { commands: COMMANDS, catalogue });
}
