// SPDX-License-Identifier: Apache-2.0

// The story: a sequence of scenes, each loaded and computed when it is about to become visible. To
// add a scene, add an entry to this list.

import './story.css';
import './hero.css';
import './scene.css';
import { Address } from '../base/address.ts';
import { h, setText } from '../base/dom.ts';
import type { Engine } from '../base/engine.ts';
import { anchor } from './anchor.ts';
import { connectPaper } from './paper.ts';
import { ProgressLine } from './progress-line.ts';
import { makeQueue } from './queue.ts';
import { addressOf, type Route } from '../base/route.ts';
import { between, citation } from './citation.ts';
import type { Frame, Scene, SceneView } from './scene.ts';
import { sources } from './sources.ts';
import { Stage } from './stage.ts';
import { Tools } from './tools.ts';
import { Way } from './way.ts';

const scenes: readonly Scene[] = [
  {
    id: 'hero',
    // index.html has this text, too, so that it can be read before any script has run.
    title: 'Count everyone. Reveal no one.',
    sentence: '',
    sources: [],
    drawn: true,
    load: () => import('./hero.ts'),
  },
  {
    id: 'attacker',
    title: 'Attack it',
    sentence: 'An attacker knows who else came, and guesses whether you did.',
    sources: ['dwork'],
    drawn: true,
    load: () => import('./attacker.ts'),
  },
  {
    id: 'naive',
    title: 'Two obvious ways',
    sentence: 'Both add fresh noise, and both need far too much of it.',
    sources: ['dwork', 'henzinger'],
    drawn: true,
    load: () => import('./naive.ts'),
  },
  {
    id: 'take_back',
    title: 'Take it back',
    sentence: 'Each step takes back part of the noise of the step before.',
    sources: ['denisov'],
    load: () => import('./take-back.ts'),
  },
  {
    id: 'tree',
    title: 'The tree',
    sentence: 'Or add noise to blocks of steps: any total is the sum of a few blocks.',
    sources: ['dwork', 'chan', 'honaker'],
    load: () => import('./errors/tree.ts'),
  },
  {
    id: 'floor',
    title: 'Beat it',
    sentence:
      'Take back a little of all earlier noise: a matrix factorization. A proof shows how far this ' +
      'can go.',
    sources: ['denisov', 'fichtenberger', 'henzinger', 'mcmahan'],
    load: () => import('./errors/floor.ts'),
  },
  {
    id: 'handwriting',
    title: 'Learn',
    sentence:
      'Online learning adds up gradients: prefix sums again. With the same noise a model learns to ' +
      'read digits, with little regret, and hides every image that it learned from.',
    waits: 'Loading handwritten digits…',
    sources: ['kairouz', 'denisov'],
    load: () => import('./handwriting/handwriting.ts'),
  },
  {
    id: 'crowd',
    title: 'The crowd',
    sentence:
      'Phones train one model together, and their images stay on them. Noise hides every phone in ' +
      'what is published.',
    waits: 'Loading handwritten digits…',
    sources: ['kairouz', 'mcmahan'],
    load: () => import('./handwriting/crowd.ts'),
  },
  {
    id: 'yours',
    title: 'Your data',
    sentence: 'How many counts, how accurate, how private? Choose, and bring a table of your own.',
    sources: ['denisov'],
    drawn: true,
    load: () => import('./errors/yours.ts'),
  },
  {
    id: 'papers',
    title: 'Papers',
    sentence: 'From the first private counts to DP-FTRL: where all of this comes from.',
    sources: [],
    drawn: true,
    load: () => import('./papers.ts'),
  },
];

/** Distance from the window at which a scene is prepared, as a share of the window's height. */
const ahead = '150%';

type State = 'waiting' | 'mounting' | 'ready' | 'failed';

class Section {
  readonly element: HTMLElement;
  view: SceneView | null = null;
  private mounted: Promise<void> | null = null;
  private readonly stage: Stage;
  private readonly note = h('p', { class: 'hint', role: 'status', hidden: true });
  private readonly tools: Tools;
  /** Initial position of the handles; null before the scene is mounted. */
  private first: string | null = null;
  /** Position of the handles in the address; null for the initial one. */
  private wanted: string | null = null;

  constructor(
    readonly scene: Scene,
    root: HTMLElement,
    next: Scene | undefined,
  ) {
    const id = `scene-${scene.id}`;
    this.tools = new Tools(scene, () => this.view);
    // The first scene is already in the document, so that it can be read before any script has run.
    const drawn = root.querySelector<HTMLElement>(`#${id}`);
    this.stage = new Stage(drawn?.querySelector<HTMLElement>('.scene-stage') ?? undefined);
    this.element = drawn ?? this.make(id);
    this.element.append(this.foot(next));
    this.state = 'waiting';
    root.append(this.element);
  }

  private make(id: string): HTMLElement {
    const { title, sentence } = this.scene;
    return h(
      'section',
      { class: 'scene', id, 'aria-labelledby': `${id}-title` },
      h(
        'div',
        { class: 'scene-head' },
        h('h2', { id: `${id}-title`, tabindex: -1 }, title),
        h('p', { class: 'sentence' }, sentence),
      ),
      this.stage.figure,
      this.stage.words,
    );
  }

  private foot(next: Scene | undefined): HTMLElement {
    const cited = this.scene.sources.map((name) => citation(sources[name]));
    return h(
      'div',
      { class: 'scene-foot' },
      this.note,
      cited.length > 0 && h('p', { class: 'margin-note' }, ...between(cited, ' · ')),
      this.tools.element,
      next && h('a', { class: 'next', href: `#scene=${next.id}` }, `Next: ${next.title}`),
    );
  }

  get state(): State {
    return this.element.dataset['state'] as State;
  }
  set state(state: State) {
    this.element.dataset['state'] = state;
  }

  /** Loads and mounts the scene, once. */
  mount(frame: Frame): Promise<void> {
    this.mounted ??= this.start(frame);
    return this.mounted;
  }

  private async start(frame: Frame): Promise<void> {
    this.state = 'mounting';
    try {
      this.view = await this.show(frame);
      this.first = this.view.position.read();
      this.put(this.wanted);
      this.tools.ready();
      this.state = 'ready';
      this.view.working?.catch((error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.state = 'failed';
    const message = error instanceof Error ? error.message : String(error);
    const text = `This scene could not start: ${message}`;
    this.stage.figure.append(h('p', { class: 'error', role: 'alert' }, text));
  }

  private async show(frame: Frame): Promise<SceneView> {
    const { scene, stage } = this;
    if (scene.drawn) return (await scene.load()).mount(stage, frame);
    const progress = new ProgressLine();
    progress.show(scene.waits ?? 'Computing…', null);
    stage.figure.append(progress.element);
    try {
      const [{ mount }, ready] = await Promise.all([scene.load(), frame.library()]);
      // The frame has a getter, which a copy would lose.
      return await mount(stage, Object.assign(Object.create(frame) as Frame, { engine: ready }));
    } finally {
      progress.element.remove();
    }
  }

  /** Waits for the finished frame, even if the work restarts meanwhile. */
  async finish(): Promise<void> {
    let awaited: Promise<void> | undefined;
    while (this.view?.working !== awaited) {
      awaited = this.view?.working;
      await awaited?.catch(() => {}); // The scene shows the error.
    }
  }

  get isFinished(): boolean {
    const isWorking = this.stage.figure.dataset['work'] === 'running';
    return this.state === 'failed' || (this.state === 'ready' && !isWorking);
  }

  /** Null for the initial position of the handles. */
  get position(): string | null {
    if (this.view === null) return this.wanted;
    const now = this.view.position.read();
    return now === this.first ? null : now;
  }

  /**
   * Moves the handles, or back to their initial position if null; shows a note if that is
   * impossible.
   */
  put(text: string | null): void {
    this.wanted = text;
    if (this.view === null || this.first === null) return;
    const { position } = this.view;
    const target = text ?? this.first;
    const fits = position.read() === target || position.put(target);
    this.note.hidden = fits;
    if (!fits) {
      this.note.textContent = `This scene cannot show “${text}”, the position in the address.`;
    }
  }

  /**
   * Updates the link to the scene after the user has released a handle. False if it has not moved.
   */
  settle(): boolean {
    const { position, scene } = this;
    if (position === this.wanted) return false;
    this.wanted = position;
    this.note.hidden = true;
    this.tools.link(addressOf(scene.id, new Map(position === null ? [] : [[scene.id, position]])));
    return true;
  }

  focus(): void {
    anchor(this.element);
    this.element.querySelector<HTMLElement>('[tabindex="-1"]')?.focus({ preventScroll: true });
  }
}

/**
 * Opens the laboratory when a file is dropped on the story, because the browser would otherwise
 * leave the page. Listens on an element inside the document, because the laboratory listens on the
 * document itself.
 */
function takeDrops(): void {
  const { classList, dataset } = document.documentElement;
  const isOurs = (event: DragEvent): boolean =>
    dataset['view'] === 'story' && event.dataTransfer?.types.includes('Files') === true;
  document.body.addEventListener('dragover', (event) => {
    if (!isOurs(event)) return;
    event.preventDefault();
    event.stopPropagation();
    classList.add('dropping');
  });
  document.body.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) classList.remove('dropping');
  });
  document.body.addEventListener('drop', (event) => {
    if (!isOurs(event)) return;
    event.preventDefault();
    event.stopPropagation();
    classList.remove('dropping');
    const [file] = event.dataTransfer?.files ?? [];
    if (file) void import('./errors/hand-over.ts').then(({ handOver }) => handOver(file));
  });
}

export class Story {
  private readonly sections: Section[];
  private readonly queue = makeQueue();
  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)');
  private readonly address = new Address((text: string) => text);
  private isNew = true;
  private readonly unknown = h('p', { class: 'hint', role: 'status', hidden: true });
  private readonly way: Way | null = null;

  constructor(
    root: HTMLElement,
    private readonly library: () => Promise<Engine>,
    { scene, embedded }: Route,
  ) {
    const own = embedded ? scenes.filter(({ id }) => id === scene) : scenes;
    const shown = own.length > 0 ? own : scenes;
    this.sections = shown.map((one, i) => new Section(one, root, shown[i + 1]));
    for (const other of root.querySelectorAll('.scene')) {
      if (this.sections.every(({ element }) => element !== other)) other.remove();
    }
    // At first, only scenes in the window are prepared; once the reader scrolls, the next scenes
    // are prepared, too.
    this.prepare('0px');
    addEventListener('scroll', () => this.prepare(`${ahead} 0px`), { once: true, passive: true });
    // The list of papers is mounted at the first key, so that the browser's search finds their
    // titles.
    const papers = this.sectionOf('papers');
    if (papers) addEventListener('keydown', () => void this.mount(papers), { once: true });
    // The next scene is mounted before the focus reaches it, because the keyboard need not scroll.
    for (const [i, next] of this.sections.slice(1).entries()) {
      const foot = this.sections[i]!.element.querySelector('.scene-foot')!;
      foot.addEventListener('focusin', () => void this.mount(next));
    }
    const isShown = (): boolean => document.documentElement.dataset['view'] === 'story';
    connectPaper(
      { numOpen: () => this.numOpen(), finish: (advanced) => this.finish(advanced) },
      isShown,
    );
    document.addEventListener('click', (event) => isShown() && this.follow(event));
    root.prepend(this.unknown);
    if (!embedded)
      this.way = new Way(
        this.sections.map((one) => one.element),
        isShown,
      );
    takeDrops();
  }

  /** Mounts each scene once it comes within a margin of the window. */
  private prepare(rootMargin: string): void {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const section = this.sections.find(({ element }) => element === target);
          if (!isIntersecting || section === undefined) continue;
          observer.unobserve(target);
          void this.mount(section);
        }
      },
      { rootMargin },
    );
    for (const { element } of this.sections) observer.observe(element);
  }

  private mount(section: Section): Promise<void> {
    return section.mount(this.frame(section));
  }

  /**
   * Applies an address: moves handles, and goes to the scene if it names one. Going back to an
   * address that the page wrote only moves handles.
   */
  open({ scene, embedded, positions }: Route): void {
    for (const section of this.sections) section.put(positions.get(section.scene.id) ?? null);
    const isUnknown = scene !== null && this.sectionOf(scene) === undefined;
    this.unknown.hidden = !isUnknown;
    if (isUnknown) setText(this.unknown, `No scene is called “${scene}”. Here is the whole story.`);
    const isRestored = this.isNew && (this.way?.restore() ?? false);
    if (this.isNew || !this.address.isOwn) {
      if (scene !== null && !embedded && !isRestored) this.sectionOf(scene)?.focus();
      this.address.adopt();
    }
    this.isNew = false;
    this.way?.wait();
  }

  private sectionOf(scene: string): Section | undefined {
    return this.sections.find((section) => section.scene.id === scene);
  }

  /** Follows a link between scenes without moving handles. */
  private follow(event: Event): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#scene="]');
    if (link === null || (event as MouseEvent).ctrlKey || (event as MouseEvent).metaKey) return;
    const section = this.sectionOf(new URLSearchParams(link.hash.slice(1)).get('scene') ?? '');
    if (section === undefined) return;
    event.preventDefault();
    this.write(section, 'scene');
    section.focus();
  }

  private write({ scene }: Section, what: string): void {
    const positions = new Map<string, string>();
    for (const section of this.sections) {
      if (section.position !== null) positions.set(section.scene.id, section.position);
    }
    this.address.write(addressOf(scene.id, positions), what);
  }

  restyle(): void {
    for (const { view } of this.sections) view?.restyle();
  }

  private numOpen(): number {
    return this.sections.filter(({ isFinished }) => !isFinished).length;
  }

  /** Mounts every scene and waits for its finished frame. */
  private async finish(advanced: () => void): Promise<void> {
    const one = async (section: Section): Promise<void> => {
      await this.mount(section);
      await section.finish();
      advanced();
    };
    await Promise.all(this.sections.map(one));
  }

  private frame(section: Section): Frame {
    const { queue, calm, library } = this;
    return {
      queue,
      library,
      settled: () => {
        if (section.settle()) this.write(section, section.scene.id);
      },
      get calm() {
        return calm.matches;
      },
    };
  }
}
