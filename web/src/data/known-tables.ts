// SPDX-License-Identifier: Apache-2.0

// Ranges and categories of the tables that come with the page. They follow from how the tables were
// generated (examples/README.md, data/made-up.ts), not from the rows.

import type { KnownTable } from './statistic-choice.ts';

/** Keyed by the name of the source. */
export const knownTables: Readonly<Record<string, KnownTable>> = {
  synthetic: { measured: 'minutes', range: '0:90', category: 'drink', domain: 'tea,coffee,water' },
  shop_day: { measured: 'revenue', range: '0:20', category: 'items', domain: '0,1,2,3,4' },
  tide: { measured: 'height', range: '0:4', category: '', domain: '' },
  calendar: { measured: 'sundays', range: '4:5', category: 'days', domain: '28,29,30,31' },
  pendulum: { measured: 'cos_angle', range: '-0.5:0.5', category: 'label', domain: '0,1' },
};
