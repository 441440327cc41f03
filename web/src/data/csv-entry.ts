// SPDX-License-Identifier: Apache-2.0

import { serveCsv } from './csv-worker.ts';

serveCsv();
