// SPDX-License-Identifier: Apache-2.0

/** Text of the error of a test whose page the browser no longer draws; tests/run.mjs looks for it. */
export const STALLED = 'the browser has stopped drawing this page';
