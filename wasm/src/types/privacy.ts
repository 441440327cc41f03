// SPDX-License-Identifier: Apache-2.0

// Privacy targets, and what releases spend together.

/** Neighbouring relation: one user's contribution set to zero, or replaced by any other one. */
export type Neighbours = 'zero-out' | 'replace-one';

export interface ApproximateDp {
  /** > 0 */
  epsilon: number;
  /** 0 < delta < 1 */
  delta: number;
}

/** One of: (epsilon, delta); (rho, delta); (mu, delta). */
export type CalibrateOptions =
  | ApproximateDp
  | { rho: number; delta: number }
  | { mu: number; delta: number };

export interface Calibration {
  /** Noise std divided by the distance between neighbours. Unitless. */
  noiseMultiplier: number;
  epsilon: number;
  delta: number;
  /** Zero-concentrated DP: as given, or mu^2 / 2, that of the Gaussian mechanism. */
  rho: number;
  /**
   * Gaussian DP. null where rho was given: a rho-zCDP mechanism need not be a Gaussian one, and
   * epsilon is then an upper bound for all of them.
   */
  mu: number | null;
  /** Theorem from which the numbers come. */
  method: string;
  /** The textbook formula, for comparison only. */
  classical: {
    noiseMultiplier: number;
    actualDelta: number;
    theoremApplies: boolean;
    sound: boolean;
  };
}

/** A statement about the Gaussian mechanism. */
export interface GaussianCalibration extends Calibration {
  mu: number;
}

/** Releases of one account, and the limit they share. */
export interface CompositionOptions extends ApproximateDp {
  /**
   * 'mu': Gaussian DP, adds up as root of the sum of squares; 'rho': zero-concentrated DP, adds up.
   * Fixed before the first release: taking the better of two afterwards proves nothing.
   */
  account: 'mu' | 'rho';
  /**
   * mu or rho of each release, > 0: from certificates and `calibrate`, or for a pure release
   * `pureMu(epsilon)` and `pureRho(epsilon)`.
   */
  costs: readonly number[] | Float64Array;
}

export interface Composition {
  /** mu or rho of all releases together, rounded up; 0 without releases. */
  total: number;
  /** The largest total that stays within (epsilon, delta), rounded down. */
  limit: number;
  /** Epsilon of the total at delta, rounded up; 0 without releases. */
  epsilon: number;
  /** total <= limit. */
  fits: boolean;
}
