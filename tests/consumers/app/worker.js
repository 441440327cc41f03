// SPDX-License-Identifier: Apache-2.0

// Entry of a bundled worker.

import 'dp-ftrl/worker';
