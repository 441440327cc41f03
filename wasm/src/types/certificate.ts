// SPDX-License-Identifier: Apache-2.0

// Certificates: the numbers that a privacy guarantee rests on.

import type { EffectiveParameters, MechanismName } from './mechanism.js';
import type { LatticeNoise, Neighbours } from './privacy.js';
import type { Problem } from './problem.js';
import type { PrivacyTarget, Strategy } from './streams/options.js';
import type { CertifiedBound } from './unit-error.js';

/** Options of the stream whose certificate is wanted. */
export interface CertificateOptions extends Problem, PrivacyTarget {
  /** Default: as for streams. */
  strategy?: Strategy;
  /** Norm to which one record is clipped. Default 1. */
  clip?: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
}

/** The privacy guarantee of a mechanism, with every quantity it rests on. */
export interface Certificate {
  mechanism: MechanismName | 'offset-ar' | 'endless-ar';
  workload: string;
  participation: string;
  /** Largest number of steps that one user contributes to, `separation` apart; see `UnitError`. */
  maxParticipations: number;
  separation: number;
  numSteps: number;
  neighbours: Neighbours;
  /**
   * Present for moments and histograms with 'replace-one': true if, as promised, a record is only
   * replaced by another of its own step; false if it may also be replaced by a record of another
   * step, which `sensitivity` then accounts for. Sums always protect records that move to another
   * step.
   */
  fixedTimes?: boolean;
  epsilon: number;
  delta: number;
  /** Gaussian DP; null in mode 'lattice' with discrete Gaussian noise, which is zCDP with `rho`. */
  mu: number | null;
  rho: number;
  clipNorm: number;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  sensitivityMethod: string;
  /**
   * Present for learners: algorithm, passes over the rows and mechanism, such as 'DP-FTRL, one
   * pass, optimal' or 'private gradient descent, 120 passes'.
   */
  algorithm?: string;
  /**
   * Present if this package clips nothing: the caller then guarantees `clippedTo`, and `clipNorm`
   * is larger by what rounding to the grid may add.
   */
  clipping?: 'by the caller';
  noiseMultiplier: number;
  noiseStddev: number;
  maxError: number;
  meanError: number;
  /** The error that the mechanism is designed for; 'max' if it has no objective. */
  objective: 'max' | 'mean';
  effectiveParameters: EffectiveParameters;
  /**
   * The participation that 'optimal' was optimised for, in words. Present if it differs from the
   * requested one, for which no optimum is available: epochs beyond `limits.epochSteps` of
   * `strategies` (beyond `limits.epochSumSteps` for prefix sums, with or without decay, and
   * objective 'mean'), a minimum separation, or a given number of buffers. The sensitivity is
   * always for the requested participation. 'banded-toeplitz' is optimised for any participation.
   */
  optimisedFor?: string;
  /**
   * Present for releases in mode 'lattice'. `sensitivity` is then that of the encoder with its
   * rounded coefficients, and `noiseStddev` the std of the integer noise, in input units.
   */
  lattice?: LatticeClaim;
  /**
   * Present for pure-DP releases, whose `delta` is 0: `clipNorm` and `sensitivity` are then
   * l1-norms, and `mu` and `rho` are the values implied by epsilon.
   */
  laplace?: LaplaceClaim;
  /**
   * Present for several workloads: the errors of each, at noise multiplier 1 and clip norm 1. The
   * errors above cover all workloads: `maxError` is the largest error of a workload, `meanError`
   * the root of the mean of the squared errors, weighted by importance.
   */
  workloads?: Readonly<Record<string, { readonly maxError: number; readonly meanError: number }>>;
  /**
   * Present for active people: mechanism and noise of each window. With several windows,
   * `sensitivity` is that of the first window, and the privacy loss of all windows together is an
   * upper bound.
   */
  active?: Readonly<Record<string, ActiveClaim>>;
  /**
   * Present for active people with `steps: 'endless'`: the events of one person in any window of
   * this many consecutive steps are protected, not all of the person's events.
   */
  protectedSteps?: number;
}

/** Mechanism and noise of one window of active people. */
export interface ActiveClaim {
  /** Steps for which a person counts as active after an event. */
  readonly window: number;
  readonly closedStart: boolean;
  /** The mechanism with the least noise for this window. */
  readonly mechanism: MechanismName | 'offset-ar' | 'endless-ar';
  readonly sensitivity: number;
  readonly sensitivityExactness: 'exact' | 'upper bound';
  readonly noiseStddev: number;
  /** Largest standard deviation of a count. */
  readonly stddev: number;
  readonly effectiveParameters: EffectiveParameters;
}

/**
 * A certificate with the mechanism's error relative to a certified lower bound, and a check that
 * its factors multiply to the workload.
 */
export interface CheckedCertificate extends Certificate, CertifiedBound {
  /**
   * The error named by `objective` divided by `lowerBound`, both at noise multiplier 1, for either
   * kind of neighbours.
   */
  ratio: number | null;
  /**
   * ratio - 1: no factorization covered by the bound has an error smaller by more than this
   * fraction of the bound.
   */
  gap: number | null;
  /**
   * max |A - B C| over the first `residualSteps` steps, for the strategy built for that many steps.
   */
  decoderResidual: number;
  residualSteps: number;
}

/**
 * Additional facts about pure-DP releases: each entry of each measurement (a node of a tree, or a
 * single step) gets integer noise k with probability proportional to exp(-|k| / scale). Lengths are
 * in units of `grid`.
 */
export interface LaplaceClaim {
  /** Norm in which records are clipped, over all their entries. */
  norm: 'l1';
  scale: number;
  /**
   * Largest l1-distance, at most epsilon * scale, by which one user moves all measurements
   * together.
   */
  distance: number;
  /** Largest l1-norm of a record. */
  maxNorm: number;
  /** Value of one integer unit, in input units. */
  grid: number;
}

/** Additional facts about releases in mode 'lattice'. Lengths are in units of a measurement. */
export interface LatticeClaim {
  noise: LatticeNoise;
  /** Bits after the binary point in the encoder's coefficients. */
  precisionBits: number;
  /** Unit of a measurement, in input units. */
  measurementUnit: number;
  /** Variance of the integer noise. */
  noiseVariance: number;
  /** Upper bound on the l2 distance by which one user moves all measurements. */
  distance: number;
  /**
   * Upper bound on the rounding error that integer buffers add to a measurement; 0 without buffers.
   */
  roundingDeviation: number;
  /** Limit on the contributions to one step, so that no integer overflows. */
  maxContributions: number;
}
