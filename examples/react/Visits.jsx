// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';

/** Counts visits, and shows a private total after each hour. `sums` is a `prefixSum`. */
export function Visits({ sums }) {
  const [total, setTotal] = useState('no hour is over');
  return (
    <p>
      <button onClick={() => sums.contribute([1])}>Visit</button>
      <button onClick={() => setTotal(sums.endSteps()[0].toFixed(1))}>End of the hour</button>
      <output>{total}</output>
    </p>
  );
}
