// SPDX-License-Identifier: Apache-2.0

// The entry of a bundled worker.

import 'dp-ftrl/worker';
