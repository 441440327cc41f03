// SPDX-License-Identifier: Apache-2.0

// Certificates: the numbers that a privacy claim rests on.

import type { EffectiveParameters, MechanismName } from './mechanism.js';
import type { LatticeNoise, Neighbours } from './privacy.js';
import type { Problem } from './problem.js';
import type { PrivacyTarget, Strategy } from './streams/options.js';
import type { CertifiedBound } from './unit-error.js';

/** Options of the claim that a stream would make. */
export interface CertificateOptions extends Problem, PrivacyTarget {
  /** Default: as for streams. */
  strategy?: Strategy;
  /** Norm to which one record is clipped. Default 1. */
  clip?: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
}

/** The privacy claim of a mechanism, with every quantity it rests on. */
export interface Certificate {
  mechanism: MechanismName;
  workload: string;
  participation: string;
  /**
   * Largest number of steps of a user. `separation` is the distance between them; see `UnitError`.
   */
  maxParticipations: number;
  separation: number;
  numSteps: number;
  neighbours: Neighbours;
  /**
   * Present for moments and histograms with 'replace-one': true if records are only replaced in
   * their own steps, as promised, and false if also by records of other steps, of which
   * `sensitivity` then takes account. Sums protect records that move in any case.
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
  /** Present if this package clips nothing: the caller then guarantees `clipNorm`. */
  clipping?: 'by the caller';
  noiseMultiplier: number;
  noiseStddev: number;
  maxError: number;
  meanError: number;
  /** The error the mechanism is designed for; 'max' if it has no objective. */
  objective: 'max' | 'mean';
  effectiveParameters: EffectiveParameters;
  /**
   * The participation that 'optimal' was optimised for, in words. Present if it differs from the
   * requested one, for which no optimum is available: epochs beyond `limits.epochSteps` of `strategies` (beyond
   * `limits.epochSumSteps` for prefix sums, with or without decay, and objective 'mean'), a minimum
   * separation, or a number of buffers. The sensitivity is always that of the requested
   * participation. 'banded-toeplitz' is optimised for any participation.
   */
  optimisedFor?: string;
  /**
   * Present for releases in mode 'lattice'; sensitivity and noise are then those of the integers.
   */
  lattice?: LatticeClaim;
  /**
   * Present for pure-DP releases, whose `delta` is 0: `clipNorm` and `sensitivity` are then
   * l1-norms, and `mu` and `rho` are those implied by epsilon.
   */
  laplace?: LaplaceClaim;
  /**
   * Present for several workloads: the errors of each, at noise multiplier 1 and clip norm 1. Those
   * above are over all of them: `maxError` is the largest, `meanError` the root of the mean of the
   * squares, weighted by importance.
   */
  workloads?: Readonly<Record<string, { readonly maxError: number; readonly meanError: number }>>;
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
 * Claims of pure-DP releases, in addition to the certificate: each entry of each tree node gets
 * integer noise k with probability proportional to exp(-|k| / scale). Lengths are in units of
 * `grid`.
 */
export interface LaplaceClaim {
  /** Norm by which records are clipped, over all their entries. */
  norm: 'l1';
  scale: number;
  /**
   * Largest l1-distance, at most epsilon * scale, by which one user moves all nodes and entries
   * together.
   */
  distance: number;
  /** Largest l1-norm of a record. */
  maxNorm: number;
  /** Value of one integer unit, in input units. */
  grid: number;
}

/**
 * Claims of mode 'lattice', in addition to the certificate. Lengths are in units of a measurement.
 */
export interface LatticeClaim {
  noise: LatticeNoise;
  /** Number of bits after the binary point in the encoder's coefficients. */
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
  /** Largest number of contributions to one step. */
  maxContributions: number;
}
