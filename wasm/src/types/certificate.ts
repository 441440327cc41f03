// SPDX-License-Identifier: Apache-2.0

// Certificates: the numbers that a privacy claim rests on.

import type { EffectiveParameters, MechanismName } from './mechanism.js';
import type { Neighbours } from './privacy.js';
import type { CertifiedBound } from './unit-error.js';

/** Everything a privacy claim rests on. */
export interface Certificate {
  mechanism: MechanismName;
  workload: string;
  participation: string;
  /** Largest number of steps of a user, and their distance, as in `UnitError`. */
  maxParticipations: number;
  separation: number;
  numSteps: number;
  neighbours: Neighbours;
  epsilon: number;
  delta: number;
  /** Gaussian DP; null in mode 'lattice' with discrete noise, which is zCDP with `rho`. */
  mu: number | null;
  rho: number;
  clipNorm: number;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  sensitivityMethod: string;
  /** Present where this package clipped nothing: the norm is a promise of the caller. */
  clipping?: 'by the caller';
  noiseMultiplier: number;
  noiseStddev: number;
  maxError: number;
  meanError: number;
  /** The error for which the mechanism is made; 'max' where it has no objective. */
  objective: 'max' | 'mean';
  effectiveParameters: EffectiveParameters;
  /**
   * Present for 'optimal' where there is no optimum for the participation that was asked for: epochs
   * beyond `limits.epochSteps` or, for sums, `limits.epochSumSteps`, a least separation, a number of
   * buffers. The participation that it is the optimum for, in words. The sensitivity is that for the
   * former all the same; 'banded-toeplitz' is optimised for any.
   */
  optimisedFor?: string;
  /**
   * Present for releases in mode 'lattice', whose sensitivity and noise are those of the integers.
   */
  lattice?: LatticeClaim;
  /**
   * Present for releases without a delta, which is 0 then: `clipNorm` and `sensitivity` are l1-norms,
   * `mu` and `rho` what epsilon implies.
   */
  laplace?: LaplaceClaim;
}

/**
 * A certificate together with how good the mechanism is, and a check that its factors belong
 * together.
 */
export interface CheckedCertificate extends Certificate, CertifiedBound {
  /**
   * The error named by `objective`, divided by `lowerBound`: both are at noise multiplier 1, for
   * either kind of neighbours.
   */
  ratio: number | null;
  /**
   * ratio - 1: no factorization that the bound covers is better by more than this share of the
   * bound.
   */
  gap: number | null;
  /**
   * max |A - B C| over the leading `residualSteps` steps, for the strategy made for that many
   * steps.
   */
  decoderResidual: number;
  residualSteps: number;
}

/**
 * Claims of releases without a delta beside those of the certificate: each node of the tree, and
 * each entry, has integer noise k with probability proportional to exp(-|k| / scale). Lengths are
 * in grids.
 */
export interface LaplaceClaim {
  /** Norm to which records are clipped, over all their entries. */
  norm: 'l1';
  scale: number;
  /** Most by which one user moves all nodes and entries together, in l1-norm: at most epsilon * scale. */
  distance: number;
  /** Largest l1-norm of a record. */
  maxNorm: number;
  /** Input units that one integer counts. */
  grid: number;
}

/**
 * Laws of the noise in mode 'lattice': discrete Gaussians, which are zCDP with the certificate's
 * `rho` (some 7 % more noise at epsilon 1, delta 1e-6), or exactly rounded ones, which are GDP with
 * its `mu`.
 */
export type LatticeNoise = 'discrete-gaussian' | 'rounded-gaussian';

/**
 * Claims of mode 'lattice' beside those of the certificate. Lengths are in units of a measurement.
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
  /** Upper bound on what the rounding of integer buffers adds to a measurement; 0 elsewhere. */
  roundingDeviation: number;
  /** Largest number of contributions to one step. */
  maxContributions: number;
}
