// SPDX-License-Identifier: Apache-2.0

// Privacy targets, and the composition of releases.

/** Neighbouring relation: one user's contribution set to zero, or replaced by any other one. */
export type Neighbours = 'zero-out' | 'replace-one';

export interface ApproximateDp {
  /** > 0 */
  epsilon: number;
  /** 0 < delta < 1 */
  delta: number;
}

/** A privacy target: (epsilon, delta), (rho, delta) or (mu, delta). */
export type CalibrateOptions =
  | ApproximateDp
  | { rho: number; delta: number }
  | { mu: number; delta: number };

export interface Calibration {
  /** Noise std divided by the distance between neighbours. Unitless. */
  noiseMultiplier: number;
  epsilon: number;
  delta: number;
  /** Zero-concentrated DP: the given rho, or mu^2 / 2, the rho of the Gaussian mechanism. */
  rho: number;
  /**
   * Gaussian DP. Null if rho was given, because a rho-zCDP mechanism need not be Gaussian; epsilon
   * is then an upper bound for all rho-zCDP mechanisms.
   */
  mu: number | null;
  /** Theorem the numbers are derived from. */
  method: string;
  /** The textbook formula, for comparison only. */
  classical: {
    noiseMultiplier: number;
    actualDelta: number;
    theoremApplies: boolean;
    sound: boolean;
  };
}

/** Calibration of the Gaussian mechanism. */
export interface GaussianCalibration extends Calibration {
  mu: number;
}

/** Privacy costs of releases, and the limit they share. */
export interface CompositionOptions extends ApproximateDp {
  /**
   * 'mu': Gaussian DP, composed as the root of the sum of squares. 'rho': zero-concentrated DP,
   * composed as the sum. Fix it before the first release: choosing the better of the two afterwards
   * proves nothing.
   */
  account: 'mu' | 'rho';
  /**
   * mu or rho of each release, > 0, from certificates or `calibrate`; for a pure-DP release,
   * `pureMu(epsilon)` or `pureRho(epsilon)`; for the rho of `winner` and `quantile`, epsilon^2 / 8.
   * Pure releases may add up on their own instead: if their epsilons sum to at most E, compose the
   * others with the limit (epsilon - E, delta). Fix E before the first release.
   */
  costs: readonly number[] | Float64Array;
}

export interface Composition {
  /** mu or rho of all releases together, rounded up; 0 without releases. */
  total: number;
  /**
   * The largest total that stays within (epsilon, delta), lowered by 2^-40 of itself, so that `fits`
   * can forgive rounding.
   */
  limit: number;
  /** Epsilon of the total at delta, rounded up; 0 without releases. */
  epsilon: number;
  /** True if total <= (1 + 2^-40) limit. */
  fits: boolean;
}
