// SPDX-License-Identifier: Apache-2.0

import type { MechanismName } from '../types/all.js';

export const DEFAULT_MECHANISM: MechanismName = 'optimal';
