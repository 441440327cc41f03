// SPDX-License-Identifier: Apache-2.0

// Privacy targets, and distributions of noise.

/**
 * Neighbouring relation: one user's contribution set to zero, or replaced by any other
 * contribution.
 */
export type Neighbours = 'zero-out' | 'replace-one';

export interface ApproximateDp {
  /** > 0 */
  epsilon: number;
  /** 0 < delta < 1 */
  delta: number;
}

/** Pure differential privacy. */
export interface PureDp {
  /** > 0 */
  epsilon: number;
  delta: 0;
}

/** The losses that pure differential privacy implies for every mechanism. */
export interface PureCalibration {
  epsilon: number;
  delta: number;
  /** mu of the Gaussian differential privacy that epsilon implies. */
  mu: number;
  /** rho of the zero-concentrated differential privacy that epsilon implies. */
  rho: number;
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
  /** Theorem from which the numbers are derived. */
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

/**
 * Distribution of the noise in mode 'lattice': discrete Gaussian, which is zCDP with the
 * certificate's `rho` (about 7 % more noise at epsilon 1, delta 1e-6), or exactly rounded Gaussian,
 * which is GDP with its `mu`.
 */
export type LatticeNoise = 'discrete-gaussian' | 'rounded-gaussian';
