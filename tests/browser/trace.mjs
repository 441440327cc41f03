// SPDX-License-Identifier: Apache-2.0

// Processor time of the page's own thread, which neighbours on the machine disturb little.

/**
 * Longest tasks of the thread while `use` runs, the longest first: in milliseconds of processor time.
 * Tasks count from when the page's document is parsed.
 */
export async function longestTasks(page, use) {
  await page.tracing.start({ categories: ['devtools.timeline', 'toplevel'] });
  await use();
  // A task is written down when it has ended, after its last answer.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  const { traceEvents } = JSON.parse(Buffer.from(await page.tracing.stop()).toString());
  // The browser's own pages have threads, too.
  const parsed = traceEvents.find(
    ({ name, args }) => name === 'ParseHTML' && args.beginData.url === page.url(),
  );
  return traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && pid === parsed.pid && tid === parsed.tid)
    .filter(({ name, tdur }) => /RunTask$/.test(name) && tdur > 0)
    .map(({ tdur }) => tdur / 1000)
    .sort((a, b) => b - a);
}

/** Milliseconds of processor time that the thread has taken since the page was opened. */
export async function threadTime(page, use) {
  const session = await page.createCDPSession();
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await use();
  const { metrics } = await session.send('Performance.getMetrics');
  return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
}
