// SPDX-License-Identifier: Apache-2.0

// For a page that is one file.

import { load } from 'dp-ftrl';
import { use } from './use.js';

globalThis.outcome = use({ load });
