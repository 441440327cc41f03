// SPDX-License-Identifier: Apache-2.0

// Processor time of the page's main thread, which other programs on the machine hardly affect.

/**
 * Longest tasks of the thread while `use` runs, in descending order, in milliseconds of processor
 * time. Tasks count from the parsing of the page's document.
 */
export async function longestTasks(page, use) {
  await page.tracing.start({ categories: ['devtools.timeline', 'toplevel'] });
  await use();
  // A task is recorded when it has ended, after its last response.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  const { traceEvents } = JSON.parse(Buffer.from(await page.tracing.stop()).toString());
  // The browser's internal pages also have threads.
  const parsed = traceEvents.find(
    ({ name, args }) => name === 'ParseHTML' && args.beginData.url === page.url(),
  );
  return traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && pid === parsed.pid && tid === parsed.tid)
    .filter(({ name, tdur }) => /RunTask$/.test(name) && tdur > 0)
    .map(({ tdur }) => tdur / 1000)
    .sort((a, b) => b - a);
}

/** Milliseconds of processor time used by the thread since the page was opened. */
export async function threadTime(page, use) {
  const session = await page.createCDPSession();
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await use();
  const { metrics } = await session.send('Performance.getMetrics');
  return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
}
