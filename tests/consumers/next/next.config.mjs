// SPDX-License-Identifier: Apache-2.0

import { fileURLToPath } from 'node:url';

// Packages are installed one folder up.
const root = fileURLToPath(new URL('..', import.meta.url));

export default { turbopack: { root }, outputFileTracingRoot: root };
