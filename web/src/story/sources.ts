// SPDX-License-Identifier: Apache-2.0

// The papers behind the story: the margin notes of the scenes, and the list at the end of the
// story.

export interface Reference {
  /** Authors and year, as in a margin note. */
  readonly short: string;
  /** Null if the copy that was read names none. */
  readonly authors: string | null;
  readonly title: string;
  readonly place: string;
  /** Address; null if there is no permanent address. */
  readonly link: string | null;
  /** Contribution of the paper, as a phrase. */
  readonly brought: string;
}

const arXiv = (number: string): string => `https://arxiv.org/abs/${number}`;

export const sources = {
  dwork: {
    short: 'Dwork et al. 2010',
    authors: 'Cynthia Dwork, Moni Naor, Toniann Pitassi and Guy N. Rothblum',
    title: 'Differential privacy under continual observation',
    place: 'STOC 2010',
    link: 'https://doi.org/10.1145/1806689.1806787',
    brought: 'counts that are published after every step, and the tree',
  },
  chan: {
    short: 'Chan, Shi and Song 2011',
    authors: 'T.-H. Hubert Chan, Elaine Shi and Dawn Song',
    title: 'Private and continual release of statistics',
    place: 'ACM TISSEC 14(3), 2011',
    link: 'https://eprint.iacr.org/2010/076',
    brought: 'the tree, found independently, and streams of unknown length',
  },
  honaker: {
    short: 'Honaker 2015',
    authors: 'James Honaker',
    title: 'Efficient use of differentially private binary trees',
    place: 'TPDP 2015',
    link: null,
    brought: 'blocks of the tree averaged with the shorter ones inside them',
  },
  kairouz: {
    short: 'Kairouz et al. 2021',
    authors:
      'Peter Kairouz, Brendan McMahan, Shuang Song, Om Thakkar, Abhradeep Thakurta and Zheng Xu',
    title: 'Practical and private (deep) learning without sampling or shuffling',
    place: 'ICML 2021',
    link: arXiv('2103.00039'),
    brought: 'DP-FTRL: learning from private prefix sums of gradients',
  },
  denisov: {
    short: 'Denisov et al. 2022',
    authors: 'Sergey Denisov, Brendan McMahan, Keith Rush, Adam Smith and Abhradeep Thakurta',
    title:
      'Improved differential privacy for SGD via optimal private linear operators on adaptive streams',
    place: 'NeurIPS 2022',
    link: arXiv('2202.08312'),
    brought: 'any factorization A = BC, safe for streams that react to what was published',
  },
  fichtenberger: {
    short: 'Fichtenberger, Henzinger and Upadhyay 2023',
    authors: 'Hendrik Fichtenberger, Monika Henzinger and Jalaj Upadhyay',
    title:
      'Constant matters: fine-grained error bound on differentially private continual observation',
    place: 'ICML 2023',
    link: arXiv('2202.11205'),
    brought: 'the square root of A, explicitly, and its error to the constant',
  },
  henzinger: {
    short: 'Henzinger, Upadhyay and Upadhyay 2023',
    authors: 'Monika Henzinger, Jalaj Upadhyay and Sarvagya Upadhyay',
    title: 'Almost tight error bounds on differentially private continual counting',
    place: 'SODA 2023',
    link: arXiv('2211.05006'),
    brought: 'lower bounds that the square root almost meets',
  },
  mcmahan: {
    short: 'McMahan, Xu and Zhang 2024',
    authors: 'H. Brendan McMahan, Zheng Xu and Yanxiang Zhang',
    title:
      'A hassle-free algorithm for private learning in practice: don’t use tree aggregation, use BLTs',
    place: 'EMNLP 2024, industry track',
    link: arXiv('2408.08868'),
    brought: 'a few buffers of memory that come close to the optimum, on real phones',
  },
  zhou: {
    short: 'Zhou 2024',
    authors: 'Xingyu Zhou',
    title: 'DP-FTRL and matrix factorization mechanism (III)',
    place: 'Blog, xingyuzhou.org, 1 January 2024',
    link: null,
    brought: 'errors with high probability, and the program for the best factorization',
  },
  correlated: {
    short: 'Correlated Noise',
    authors: null,
    title: 'Correlated Noise',
    place: 'Slides of a lecture',
    link: null,
    brought: 'gradient descent as prefix sums, and noise that is subtracted again',
  },
  lecture: {
    short: 'DP-FTRL, a lecture',
    authors: null,
    title: 'DP-FTRL',
    place: 'CS 599, lecture 14, Boston University',
    link: null,
    brought: 'DP-FTRL from the tree, and its regret',
  },
  notes: {
    short: 'Linear Queries, a lecture',
    authors: null,
    title: 'Linear Queries and the Factorization Mechanism',
    place: 'Notes of a lecture',
    link: null,
    brought: 'factorizations for any linear queries',
  },
} as const satisfies Readonly<Record<string, Reference>>;

export type SourceName = keyof typeof sources;
