// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';

/** Counts visits, and shows a private total after each hour. `visits` is a `counter`. */
export function Visits({ visits }) {
  const [total, setTotal] = useState('no hour is over');
  return (
    <p>
      <button onClick={() => visits.add()}>Visit</button>
      <button onClick={() => setTotal(visits.end().value.toFixed(1))}>End of the hour</button>
      <output>{total}</output>
    </p>
  );
}
