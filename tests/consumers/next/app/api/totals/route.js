// SPDX-License-Identifier: Apache-2.0

import { load } from 'dp-ftrl';
import { use } from '../../../use.js';

export async function GET() {
  return Response.json(await use({ load }));
}
