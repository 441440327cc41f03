// SPDX-License-Identifier: Apache-2.0

// Errors of mechanisms at unit noise, and bounds on them.

import type { BoundMethod, EffectiveParameters, MechanismName } from './mechanism.js';
import type { MechanismParameters, Participation, SavedStrategy, Workload } from './mechanism.js';
import type { Neighbours } from './privacy.js';

/** Proved bounds on the least error that a factorization can have; null where none is known. */
export interface CertifiedBound {
  /**
   * Certified lower bound on the error of every factorization whose Gaussian noise is scaled to its
   * sensitivity, for records of `lowerBoundMinDimension` numbers or more. Mechanisms that are no
   * factorizations with Gaussian noise can have smaller errors.
   */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * Least dimension of records for which `lowerBound` holds; 1 up to 2 participations. Records of
   * fewer numbers can be moved less by more contributions.
   */
  lowerBoundMinDimension: number | null;
  /** The same for records of every dimension, even of one number: at most `lowerBound`. */
  lowerBoundEveryDimension: number | null;
}

export interface ErrorOptions extends MechanismParameters {
  /** A saved strategy brings its horizon and workload, and takes no parameters. */
  mechanism: MechanismName | SavedStrategy;
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /** Default 'single'. */
  participation?: Participation;
}

export interface UnitErrorOptions extends ErrorOptions {
  /**
   * Default 'zero-out'. Records that are replaced differ by up to twice the clip norm:
   * 'replace-one' doubles sensitivity, errors and bound.
   */
  neighbours?: Neighbours;
  /** Adds what all steps keep to together with probability 1 - beta; between 0 and 1. */
  beta?: number;
  /** With `beta`: entries of a record, default 1. */
  dimension?: number;
  /** With `beta`: streams of noise to draw for `simultaneousSampled`, up to 2^20; 20000 are usual. */
  numPaths?: number;
  /** With `numPaths`: of the noise that is drawn, from 0 to 2^64 - 1; default 0. */
  seed?: number | bigint;
}

/**
 * Errors that all steps keep to together, at unit noise multiplier: upper bounds, each with
 * probability at least 1 - beta. Noise only, not the rounding of a release to its grid.
 */
export interface SimultaneousError {
  beta: number;
  dimension: number;
  /** No entry of any step is further off. */
  simultaneousError: number;
  /** From the correlation of neighbouring rows, or from the product of all probabilities. */
  simultaneousMethod: 'neighbours' | 'product';
  /** The same from the sum of all probabilities, for comparison. */
  simultaneousUnion: number;
  /** No step is further off in the l2-norm. */
  simultaneousNorm: number;
  /** All steps together are no further off in the Frobenius norm. */
  frobeniusError: number;
  /** The root of the expectation of its square. */
  frobeniusRms: number;
  /**
   * With `numPaths`: the same as `simultaneousError` from so many drawn streams, mostly lower. Over
   * the seeds it is too low with probability at most `simultaneousRisk`. Null where so few streams
   * prove nothing: 14 / beta times the dimension are the least.
   */
  simultaneousSampled?: number | null;
  simultaneousPaths?: number;
  simultaneousRisk?: number;
}

export interface UnitError extends CertifiedBound, Partial<SimultaneousError> {
  mechanism: MechanismName;
  numSteps: number;
  /** In words: 'prefix', 'momentum=0.9,decay=1', 'window=8', 'rates', 'matrix'. */
  workload: string;
  /** 'single', 'fixed-epoch' or 'min-separation'. */
  participation: string;
  /** Largest number of steps of one user: 1 where `participation` is 'single'. */
  maxParticipations: number;
  /** Distance j - i between two steps of a user: exact or least, as `participation` says. */
  separation: number;
  neighbours: Neighbours;
  /** Distance between the measurements of neighbours, in clip norms. */
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  /** Method by which it was computed. */
  sensitivityMethod: string;
  /** sensitivity * max_t ||B_t||, unit noise multiplier */
  maxError: number;
  /** sensitivity * ||B||_F / sqrt(numSteps), unit noise multiplier */
  meanError: number;
  /** The error that bound, ratio and gap refer to: the mechanism's `objective`, or 'max'. */
  objective: 'max' | 'mean';
  /** The error named by `objective`, divided by `lowerBound`. */
  ratio: number | null;
  /**
   * ratio - 1: no factorization that the bound covers is better by more than this share of the
   * bound.
   */
  gap: number | null;
  /** With `normalizeColumns`: whether the error of the objective is larger than without. */
  raisedByNormalizing?: boolean;
  decoderResidual: number;
  residualSteps: number;
  effectiveParameters: EffectiveParameters;
  /** As in `Certificate`. */
  optimisedFor?: string;
}

/** The matrices themselves, row-major. */
export interface Matrices {
  numSteps: number;
  numMeasurements: number;
  /** C, numMeasurements x numSteps. */
  encoder: Float64Array;
  /** B, numSteps x numMeasurements. */
  decoder: Float64Array;
  /** sensitivity^2 B B^T, numSteps x numSteps: covariance of the noise at unit noise multiplier. */
  noiseCovariance: Float64Array;
}

/** A bound from the literature, and whether it was found to hold at this horizon. */
export interface PublishedBound {
  value: number;
  /** False where it fails, and beyond `checkedTo` steps, where it was not checked. */
  holds: boolean;
  /**
   * Least horizon from which it was found to hold up to `checkedTo`; null if it fails at every
   * horizon that was checked.
   */
  holdsFrom: number | null;
  checkedTo: number;
}

/**
 * Promise of a mechanism: epsilon of pure differential privacy, epsilon and delta, or rho of
 * concentrated.
 */
export interface MechanismBoundsOptions {
  epsilon?: number;
  /** With `epsilon`; default 0, pure. */
  delta?: number;
  rho?: number;
  /**
   * Divides the steps, and steps * epochs^2 is at most 2^23. Up to seconds at 1024 steps, a few
   * minutes at 16 epochs of 1000.
   */
  epochs?: number;
  /** With `epochs`: how close its two bounds have to be, relative. Default 1e-6. */
  gap?: number;
}

/**
 * Lower bounds on the root mean square errors of mechanisms that need not be factorizations: prefix
 * sums of records in [-1, 1], zero-out neighbours, each user once, in each case at some stream.
 */
export interface MechanismBounds {
  /** The errors of every unbiased mechanism, whatever its noise. */
  unbiased: {
    /** Largest error over the steps. */
    max: number;
    /** Root of the mean square over the steps. */
    mean: number;
  };
  /** The latter of every mechanism, biased or not, and so the former. */
  every: number;
  /** Equal records in a row that prove it. */
  blockLength: number;
}

/**
 * Lower bounds on the errors of the prefix sums plus noise of any law that does not depend on the
 * stream, for the same streams as `MechanismBounds`.
 */
export interface AddedNoiseBounds {
  /** Largest error over the steps. */
  max: number;
  /** Root of the mean square over the steps. */
  mean: number;
  /** Least variance of a number with such noise that changes by 1 between neighbours. */
  variance: number;
}

/**
 * Bounds on the least root mean square error of the prefix sums where each user takes part once an
 * epoch, at the same step of each: no factorization is below `lower`, and one has `upper`.
 */
export interface EpochsBounds {
  lower: number;
  upper: number;
  /** Records of so many numbers or more; of fewer, an error below `lower` may be possible. */
  minDimension: number;
}

/** Bounds on the errors of factorizations of the prefix sums: unit noise, one participation. */
export interface ErrorBounds {
  numSteps: number;
  /** Certified: no factorization has a smaller largest error. */
  max: number;
  /** Certified: no factorization has a smaller root mean squared error. */
  mean: number;
  /**
   * Schatten-1 norm of the prefix sums over n, below both; beyond 2^22 steps a lower bound on it.
   */
  schatten: number;
  /** Upper bounds on the errors of the square root factorization. */
  squareRoot: { max: number; mean: number };
  /**
   * Bounds as printed by Henzinger, Upadhyay and Upadhyay (2023): upper bounds on the errors of the
   * square root, and a lower bound on the mean error of every factorization.
   */
  published: { max: PublishedBound; mean: PublishedBound; lower: PublishedBound };
  /** Only where `rho`, or `epsilon` without `delta`, is given; in clip norms, not at unit noise. */
  mechanisms?: MechanismBounds;
  /** Only where `epsilon` is given; in clip norms. */
  addedNoise?: AddedNoiseBounds;
  /** Only where `epochs` is given. */
  epochs?: EpochsBounds;
}
