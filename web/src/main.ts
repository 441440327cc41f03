// SPDX-License-Identifier: Apache-2.0

// The story, the laboratory and the histograms are views of one document; the address selects the
// view. Each is created when it is first shown and runs nothing before.

import './style.css';
import { givenTable } from './data/given-table.ts';
import { keepForOffline } from './offline/register.ts';
import { byId, setText } from './base/dom.ts';
import { startEngine, type Engine } from './base/engine.ts';
import { serveCsv } from './data/csv-worker.ts';
import type { App } from './page/app.ts';
import type { QueriesPage } from './page/queries-page.ts';
import { markInMenu } from './base/menu.ts';
import { sayWhetherNewest } from './base/newest.ts';
import { setUpTheme } from './base/theme.ts';
import { routeOf } from './base/route.ts';
import { Story } from './story/story.ts';

class Page {
  private started: Promise<Engine> | null = null;
  private story: Story | null = null;
  private lab: Promise<App> | null = null;
  private queries: Promise<QueriesPage> | null = null;
  /** Address of the laboratory when last shown. */
  private labAddress = '';
  /** Scroll position of each view when last left. */
  private readonly places = new Map<string, number>();
  private readonly title = document.title;
  private readonly toLab = document.querySelectorAll<HTMLAnchorElement>('a.to-lab');

  constructor() {
    this.labAddress = this.toLab[0]!.hash;
    setUpTheme(byId<HTMLButtonElement>('theme'), () => this.restyle());
    window.addEventListener('hashchange', (event) => this.moved(new URL(event.oldURL)));
    for (const link of document.querySelectorAll<HTMLAnchorElement>('.skip')) {
      link.addEventListener('click', (event) => this.skip(event, link.hash.slice(1)));
    }
    this.open();
    // If the font cannot be used, the page keeps the system's serif.
    const useSerif = () =>
      import('./base/serif.ts').then((font) => font.useSerif()).catch(() => {});
    addEventListener('load', useSerif, { once: true });
    if (SINGLE_FILE) for (const link of document.querySelectorAll('.one-file')) link.remove();
    else if (!routeOf(location).embedded) keepForOffline(sayWhetherNewest);
    const table = givenTable();
    if (table !== null) {
      void import('./story/errors/hand-over.ts').then(({ handOver }) => handOver(table));
    }
  }

  private engine(): Promise<Engine> {
    this.started ??= startEngine();
    return this.started;
  }

  private moved(old: URL): void {
    const { view } = routeOf(old);
    if (view === 'lab') this.labAddress = old.hash;
    if (view === 'story' && old.hash !== '') byId('to-story').setAttribute('href', old.hash);
    this.open();
  }

  /**
   * Moves focus to a part of the view. The address cannot hold the id of the part, because it holds
   * settings.
   */
  private skip(event: Event, id: string): void {
    event.preventDefault();
    const target = byId(id);
    target.tabIndex = -1;
    target.focus();
  }

  /** Shows a view where the reader left it, and moves the focus to its heading. */
  private goTo(view: string): void {
    scrollTo(0, this.places.get(view) ?? 0);
    const heading = [...document.querySelectorAll('h1')].find((one) => one.checkVisibility());
    if (heading === undefined) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  private open(): void {
    const route = routeOf(location);
    const { dataset } = document.documentElement;
    const before = dataset['view'];
    if (before !== undefined) this.places.set(before, scrollY);
    dataset['view'] = route.view;
    dataset['embedded'] = String(route.embedded);
    for (const link of this.toLab) link.hash = this.labAddress;
    const isOther = before !== undefined && before !== route.view;
    if (isOther) this.goTo(route.view);
    const isOpen = ({ hash }: HTMLAnchorElement): boolean =>
      routeOf({ search: '', hash }).view === route.view;
    if (route.view !== 'story') markInMenu(isOpen);
    const opener = [...document.querySelectorAll<HTMLAnchorElement>('.menu a')].find(isOpen)!;
    document.title = route.view === 'story' ? this.title : `${opener.textContent} – ${this.title}`;
    if (route.view !== 'lab') void this.lab?.then((lab) => lab.leave());
    if (route.view !== 'queries') void this.queries?.then((queries) => queries.leave());
    if (route.view === 'lab') {
      void this.openLab();
      return;
    }
    if (route.view === 'queries') {
      this.queries ??= import('./page/queries-page.ts').then(({ QueriesPage: View }) => new View());
      void this.queries.then((queries) => queries.open());
      return;
    }
    this.story ??= new Story(byId('story'), () => this.engine(), route);
    this.story.open(route);
  }

  private async openLab(): Promise<void> {
    try {
      this.lab ??= this.makeLab();
      (await this.lab).open();
    } catch (error) {
      const loading = byId('sums');
      loading.setAttribute('role', 'alert');
      const message = error instanceof Error ? error.message : String(error);
      setText(loading, `The page could not start: ${message}`);
    }
  }

  private async makeLab(): Promise<App> {
    const [{ App }, engine] = await Promise.all([import('./page/app.ts'), this.engine()]);
    return new App(engine, await engine.strategies());
  }

  private restyle(): void {
    this.story?.restyle();
    void this.lab?.then((lab) => lab.restyle());
    void this.queries?.then((queries) => queries.restyle());
  }
}

/** Runs the page's script as a worker, for CSV files and for the library. */
async function serveAsWorker(): Promise<void> {
  serveCsv();
  await import('dp-ftrl/worker');
}

// The single-file build runs this same script in its worker.
if (typeof document === 'undefined') void serveAsWorker();
else new Page();
