// SPDX-License-Identifier: Apache-2.0

// Entry for a single-file page.

import { load } from 'dp-ftrl';
import { use } from './use.js';

globalThis.outcome = use({ load });
