// SPDX-License-Identifier: Apache-2.0

import { fileURLToPath } from 'node:url';

// Packages are installed in the parent folder.
const root = fileURLToPath(new URL('..', import.meta.url));

export default { turbopack: { root }, outputFileTracingRoot: root };
