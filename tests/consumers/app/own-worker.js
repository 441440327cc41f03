// SPDX-License-Identifier: Apache-2.0

// The library inside a custom worker, without the worker client.

import { load } from 'dp-ftrl';
import { use } from './use.js';

use({ load }).then((outcome) => postMessage(outcome));
