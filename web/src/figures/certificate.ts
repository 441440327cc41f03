// SPDX-License-Identifier: Apache-2.0

// Table of the certificate of each mechanism in use.

import type { Certificate, CheckedCertificate } from 'dp-ftrl';
import type { Analyst } from '../base/analyst.ts';
import { byId, h } from '../base/dom.ts';
import { count, counted, quantity, raised, scientific } from '../base/format.ts';
import { Lazily } from '../base/lazily.ts';
import { nameOf } from '../controls/mechanisms.ts';
import { parametersText } from '../controls/parameters.ts';
import { mechanismOf, type Lane, type Run } from '../run/run.ts';

interface CertificateRow {
  name: string;
  note: string;
  value(certificate: Certificate, lane: Lane): string;
}

/** A row whose value is known only after the mechanism has been checked. */
interface CheckedRow {
  name: string;
  note: string;
  checked(certificate: CheckedCertificate, lane: Lane): string;
}

const rows: (CertificateRow | CheckedRow)[] = [
  {
    name: 'Parameters',
    note: 'of the mechanism',
    value: (_, { parameters }) => parametersText(parameters, (v) => quantity(v)) || 'default',
  },
  { name: 'ε', note: 'epsilon', value: (certificate) => quantity(certificate.epsilon) },
  { name: 'δ', note: 'delta', value: (certificate) => scientific(certificate.delta) },
  {
    name: 'μ',
    note: 'Gaussian differential privacy',
    value: (certificate) => quantity(certificate.mu!, 6),
  },
  {
    name: 'ρ',
    note: 'zero-concentrated differential privacy',
    value: (certificate) => quantity(certificate.rho, 6),
  },
  { name: 'Neighbours', note: 'what is hidden', value: (certificate) => certificate.neighbours },
  {
    name: 'Participation',
    note: 'records of one person',
    value: (certificate) => certificate.participation,
  },
  {
    name: 'Workload',
    note: 'which sums are released; “prefix” means running totals',
    value: (certificate) => certificate.workload,
  },
  {
    name: 'Horizon',
    note: 'sums published',
    value: (certificate) => count(certificate.numSteps),
  },
  {
    name: 'Clip norm',
    note: 'longest record, ℓ₂',
    value: (certificate) => quantity(certificate.clipNorm),
  },
  {
    name: 'Sensitivity',
    note: 'largest norm of one user’s part of CX, unit clip',
    value: (certificate) =>
      `${quantity(certificate.sensitivity, 6)} (${certificate.sensitivityExactness})`,
  },
  {
    name: 'Noise multiplier',
    note: '1 / μ',
    value: (certificate) => quantity(certificate.noiseMultiplier, 6),
  },
  {
    name: 'Noise std',
    note: 'σ, input units',
    value: (certificate) => quantity(certificate.noiseStddev, 6),
  },
  {
    name: 'Greatest error',
    note: 'std of the worst total; in brackets, at noise multiplier and clip norm 1',
    value: (certificate) => error(certificate, certificate.maxError),
  },
  {
    name: 'RMS error',
    note: 'root mean square of the totals’ std',
    value: (certificate) => error(certificate, certificate.meanError),
  },
  {
    name: 'Lower bound',
    note: 'on this error, for any factorization with Gaussian noise',
    checked: (certificate, lane) => {
      const { bound, minDimension } = goalOf(certificate, lane);
      if (bound === null) return '–';
      const records = minDimension === 1 ? '' : `, records of ${minDimension} numbers or more`;
      return `${error(certificate, bound)}${records}`;
    },
  },
  {
    name: 'Gap',
    note: 'proven: no such factorization is better by more than this',
    checked: (certificate, lane) => {
      const { bound, reached, name } = goalOf(certificate, lane);
      return bound === null ? '–' : `${quantity(100 * (reached / bound - 1), 2)} %, ${name} error`;
    },
  },
  {
    name: 'Factorization',
    note: 'largest entry of A − BC',
    checked: (certificate) =>
      `${scientific(certificate.decoderResidual, 2)}, ` +
      `first ${counted(certificate.residualSteps, 'step')}`,
  },
  { name: 'Mode', note: 'how releases are rounded', value: () => 'grid' },
  {
    name: 'Grid',
    note: 'spacing of the releases',
    value: (_, { history }) => power(history.info.grid),
  },
];

/** Error that the mechanism minimises, and the best known lower bound on it. */
function goalOf(
  certificate: CheckedCertificate,
  { saved }: Lane,
): { name: string; reached: number; bound: number | null; minDimension: number } {
  const { lowerBound, lowerBoundMinDimension, maxError, meanError } = certificate;
  const found = saved?.lowerBound ?? null;
  const isFound = found !== null && found > (lowerBound ?? 0);
  const isMean = certificate.objective === 'mean';
  return {
    name: isMean ? 'RMS' : 'greatest',
    reached: isMean ? meanError : maxError,
    bound: isFound ? found : lowerBound,
    minDimension: (isFound ? saved?.lowerBoundMinDimension : lowerBoundMinDimension) ?? 1,
  };
}

/**
 * Formats an error in input units, followed by the error at noise multiplier and clip norm 1, by
 * which mechanisms are compared.
 */
function error(certificate: Certificate, unit: number): string {
  const scale = certificate.noiseStddev / certificate.sensitivity;
  return `${quantity(scale * unit, 6)} (${quantity(unit, 6)})`;
}

/** Formats a power of two with an exponent. */
function power(value: number): string {
  const exponent = Math.log2(value);
  if (!Number.isInteger(exponent) || Math.abs(exponent) < 4) return quantity(value);
  return `2${raised(exponent)} = ${quantity(value)}`;
}

export class CertificateTable {
  private readonly host = byId('certificate');
  private readonly lazily = new Lazily(this.host, () => this.check());
  private readonly checked = new WeakMap<Lane, CheckedCertificate | Error>();
  private run: Run | null = null;

  constructor(private readonly analyst: Analyst) {}

  show(run: Run): void {
    this.run = run;
    this.draw(run);
    this.lazily.request();
  }

  private async check(): Promise<void> {
    const run = this.run!;
    for (const lane of run.lanes) {
      if (this.checked.has(lane)) continue;
      this.checked.set(lane, await this.certificateOf(run, lane));
    }
    if (run === this.run) this.draw(run);
  }

  private async certificateOf(run: Run, lane: Lane): Promise<CheckedCertificate | Error> {
    try {
      const engine = await this.analyst.engine();
      return await engine.certificate(mechanismOf(run.settings, lane));
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  private draw(run: Run): void {
    const head = h('tr', {}, h('th', { scope: 'col' }, 'Parameter'));
    for (const lane of run.lanes) head.append(h('th', { scope: 'col' }, nameOf(lane.mechanism)));
    const body = h('tbody');
    for (const row of rows) {
      const name = h('th', { scope: 'row' }, row.name, h('span', { class: 'note' }, row.note));
      const cells = run.lanes.map((lane) => h('td', {}, this.text(row, lane)));
      body.append(h('tr', {}, name, ...cells));
    }
    this.host.replaceChildren(h('table', {}, h('thead', {}, head), body));
  }

  private text(row: CertificateRow | CheckedRow, lane: Lane): string {
    if ('value' in row) return row.value(lane.history.info.certificate, lane);
    const checked = this.checked.get(lane);
    if (checked === undefined) return '…';
    return checked instanceof Error ? checked.message : row.checked(checked, lane);
  }
}
