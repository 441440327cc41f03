// SPDX-License-Identifier: Apache-2.0
'use client';

import { load } from 'dp-ftrl';
import { useEffect } from 'react';
import { use } from '../use.js';

export default function Page() {
  useEffect(() => {
    globalThis.outcome = use({ load });
  }, []);
  return <p>A client component, also rendered on the server.</p>;
}
