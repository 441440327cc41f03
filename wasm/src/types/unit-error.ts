// SPDX-License-Identifier: Apache-2.0

// Errors of mechanisms, at unit noise for one workload and for several, and of pure-DP totals; and
// bounds on them.

import type { BoundMethod, EffectiveParameters, MechanismName, Workload } from './mechanism.js';
import type { Neighbours } from './privacy.js';
import type { Problem } from './problem.js';
import type { Strategy, StrategyParameters } from './streams/options.js';

/** Proved bounds on the least error that a factorization can have; null if none is known. */
export interface CertifiedBound {
  /**
   * Certified lower bound on the error of every factorization whose Gaussian noise is scaled to its
   * sensitivity, for records of `lowerBoundMinDimension` entries or more. Mechanisms other than
   * factorizations with Gaussian noise can have smaller errors.
   */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * Smallest dimension of records for which `lowerBound` holds; 1 for up to 2 participations. With
   * more participations, a user's contributions may move the measurements less if records have
   * fewer entries.
   */
  lowerBoundMinDimension: number | null;
  /** Lower bound for records of every dimension, including 1; at most `lowerBound`. */
  lowerBoundEveryDimension: number | null;
}

export interface ErrorOptions extends Problem {
  /** A saved strategy needs the `steps` it was optimised for, and supplies its own workload. */
  strategy: Strategy;
}

/**
 * Details that are large or slow to compute: each is present if the option of the same name is
 * true.
 */
export interface ErrorDetails {
  /** The error of every step, sensitivity * ||B_t||. */
  perStep?: Float64Array;
  /**
   * The std of each step's increment to the noise of its sum, for noise Z of std 1. Multiplied by
   * the certificate's `noiseStddev`, it is the std of the difference of two successive totals, in
   * input units and before rounding. Up to 4096 steps if the encoder is not Toeplitz.
   */
  increments?: Float64Array;
  /** For at most 1024 steps. */
  matrices?: Matrices;
}

/** Options of `error` for one workload. */
export interface UnitErrorOptions
  extends ErrorOptions,
    Partial<Record<keyof ErrorDetails, boolean>> {
  /**
   * Default 'zero-out'. 'replace-one' doubles sensitivity, errors and bound, because a record and
   * its replacement differ by up to twice the clip norm.
   */
  neighbours?: Neighbours;
  /**
   * Adds error bounds that hold at all steps together with probability 1 - beta; between 0 and 1.
   */
  beta?: number;
  /** With `beta`: number of entries of a record. Default 1. */
  dimension?: number;
  /**
   * With `beta`: number of noise streams to draw for `simultaneousSampled`, up to 2^20; typically
   * 20000.
   */
  numPaths?: number;
  /** With `numPaths`: seed of the drawn noise, from 0 to 2^64 - 1. Default 0. */
  seed?: number | bigint;
}

/**
 * Error bounds that hold at all steps together, at unit noise multiplier: upper bounds, each with
 * probability at least 1 - beta. They cover the noise, not the rounding of a release to its grid.
 */
export interface SimultaneousError {
  beta: number;
  dimension: number;
  /** Upper bound on the error of every entry at every step. */
  simultaneousError: number;
  /**
   * Method of the bound: the correlation of neighbouring rows, or the product of all probabilities.
   */
  simultaneousMethod: 'neighbours' | 'product';
  /** `simultaneousError` by the union bound, the sum of all probabilities, for comparison. */
  simultaneousUnion: number;
  /** Upper bound on the l2-norm of the error at every step. */
  simultaneousNorm: number;
  /** Upper bound on the Frobenius norm of the errors of all steps. */
  frobeniusError: number;
  /** Root mean square of that Frobenius norm. */
  frobeniusRms: number;
  /**
   * With `numPaths`: the same bound as `simultaneousError`, from that many drawn streams, and
   * mostly lower. Over the choice of seed, it is too low with probability at most
   * `simultaneousRisk`. Null if there are too few streams to prove anything; about 14 / beta, times
   * the dimension, are needed.
   */
  simultaneousSampled?: number | null;
  simultaneousPaths?: number;
  simultaneousRisk?: number;
}

export interface UnitError extends CertifiedBound, Partial<SimultaneousError>, ErrorDetails {
  mechanism: MechanismName;
  numSteps: number;
  /** Name of the workload: 'prefix', 'momentum=0.9,decay=1', 'window=8', 'rates', 'matrix'. */
  workload: string;
  /** 'single', 'fixed-epoch' or 'min-separation'. */
  participation: string;
  /** Largest number of steps of one user; 1 if `participation` is 'single'. */
  maxParticipations: number;
  /**
   * Distance j - i between two steps of a user: exact for 'fixed-epoch', a minimum for
   * 'min-separation'.
   */
  separation: number;
  neighbours: Neighbours;
  /** Distance between the measurements of neighbours, in clip norms. */
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  /** Method used to compute the sensitivity. */
  sensitivityMethod: string;
  /** sensitivity * max_t ||B_t||, unit noise multiplier */
  maxError: number;
  /** sensitivity * ||B||_F / sqrt(steps), unit noise multiplier */
  meanError: number;
  /**
   * The error that `lowerBound`, `ratio` and `gap` refer to: the mechanism's `objective`, else
   * 'max'.
   */
  objective: 'max' | 'mean';
  /** The error named by `objective`, divided by `lowerBound`. */
  ratio: number | null;
  /**
   * ratio - 1: no factorization covered by the bound has an error smaller by more than this
   * fraction of the bound.
   */
  gap: number | null;
  /** With `normalizeColumns`: true if the error named by `objective` is larger than without it. */
  raisedByNormalizing?: boolean;
  decoderResidual: number;
  residualSteps: number;
  effectiveParameters: EffectiveParameters;
  /** As in `Certificate`. */
  optimisedFor?: string;
}

/** Matrices of a mechanism, row-major. */
export interface Matrices {
  numSteps: number;
  numMeasurements: number;
  /** C, numMeasurements x steps. */
  encoder: Float64Array;
  /** B, steps x numMeasurements. */
  decoder: Float64Array;
  /** sensitivity^2 B B^T, steps x steps: covariance of the noise at unit noise multiplier. */
  noiseCovariance: Float64Array;
}

/** A bound from the literature, and whether it was found to hold at this horizon. */
export interface PublishedBound {
  value: number;
  /** False if the bound fails, and beyond `checkedTo` steps, where it was not checked. */
  holds: boolean;
  /**
   * Smallest horizon from which the bound was found to hold up to `checkedTo`; null if it fails at
   * every horizon that was checked.
   */
  holdsFrom: number | null;
  checkedTo: number;
}

/**
 * A lower bound from the literature on every (epsilon, delta)-DP mechanism. Its constant factor is
 * not known here, so it gives no number, and it is not proved here.
 */
export interface PublishedStatement {
  /** The error that is bounded, and the order of the bound. */
  bound: string;
  /** Authors, year and theorem. */
  source: string;
  /** Mechanisms for which the bound is published. */
  range: string;
}

/**
 * Options of `bounds`: the privacy guarantee of the bounded mechanisms (epsilon of pure DP, epsilon
 * and delta, or rho of zero-concentrated DP), and epochs.
 */
export interface BoundsOptions {
  /** Horizon, 1 .. 2^40. */
  steps: number;
  epsilon?: number;
  /** With `epsilon`. Default 0 (pure DP). */
  delta?: number;
  rho?: number;
  /**
   * At most 64; must divide the number of steps, with steps * epochs^2 at most 2^23. Takes up to a
   * few seconds at 1024 steps, and a few minutes at 16 epochs of 1000 steps.
   */
  epochs?: number;
  /** With `epochs`: target for the relative gap between the two bounds. Default 1e-6. */
  gap?: number;
}

/**
 * Lower bounds on the RMS errors of mechanisms that need not be factorizations, for prefix sums of
 * records in [-1, 1], zero-out neighbours and one participation per user; each bounds the error on
 * the mechanism's worst stream.
 */
export interface MechanismBounds {
  /** Bounds on the errors of every unbiased mechanism, with any noise. */
  unbiased: {
    /** Largest error over the steps. */
    max: number;
    /** RMS error over the steps. */
    mean: number;
  };
  /**
   * Bound on the RMS error over the steps of every mechanism, biased or not, and therefore on its
   * largest error.
   */
  every: number;
  /** Length of the runs of equal records in the proof of `every`. */
  blockLength: number;
}

/**
 * Lower bounds on the errors of prefix sums with added noise of any distribution that does not
 * depend on the stream, for the same streams as `MechanismBounds`.
 */
export interface AddedNoiseBounds {
  /** Largest error over the steps. */
  max: number;
  /** RMS error over the steps. */
  mean: number;
  /** Least variance of this noise on a number that changes by 1 between neighbours. */
  variance: number;
}

/**
 * Bounds on the least RMS error of prefix sums where each user participates once per epoch, at the
 * same step of each epoch: no factorization is below `lower`, and one attains `upper`.
 */
export interface EpochsBounds {
  lower: number;
  upper: number;
  /**
   * Smallest dimension of records for which `lower` holds; with fewer entries, a smaller error may
   * be possible.
   */
  minDimension: number;
}

/**
 * Bounds on the errors of factorizations of the prefix sums, at unit noise and one participation.
 */
export interface ErrorBounds {
  numSteps: number;
  /** Certified: no factorization has a smaller largest error. */
  max: number;
  /** Certified: no factorization has a smaller root mean squared error. */
  mean: number;
  /**
   * Schatten-1 norm of the prefix sums divided by n, below both `max` and `mean`; beyond 2^22
   * steps, a lower bound on it.
   */
  schatten: number;
  /** The square root factorization. */
  squareRoot: {
    /** Upper bound on the largest error. */
    max: number;
    /** Upper bound on the root mean squared error. */
    mean: number;
    /** Largest squared norm of a column, which is also the largest error; exact. */
    squaredColumnNorm: number;
    /** Exact. */
    meanSquaredError: number;
  };
  /** The binary tree. */
  tree: {
    /** Exact. */
    meanSquaredError: number;
    /** `meanSquaredError` divided by that of the square root. */
    overSquareRoot: number;
    /** Limit of `overSquareRoot` as the steps grow: 10.27. */
    limit: number;
  };
  /**
   * Bounds published by Henzinger, Upadhyay and Upadhyay (2023): upper bounds on the squared column
   * norm (`max`, also the largest error) and the RMS error of the square root, a lower bound on the
   * RMS error of every factorization, and lower bounds for every mechanism, which give no number.
   */
  published: {
    max: PublishedBound;
    mean: PublishedBound;
    lower: PublishedBound;
    everyMechanism: readonly PublishedStatement[];
  };
  /** Present if `rho`, or `epsilon` without `delta`, is given; in clip norms, not at unit noise. */
  mechanisms?: MechanismBounds;
  /** Present if `epsilon` is given; in clip norms. */
  addedNoise?: AddedNoiseBounds;
  /** Present if `epochs` is given. */
  epochs?: EpochsBounds;
}

/** Errors of one of several workloads, at noise multiplier 1 and clip norm 1. */
export interface WorkloadError {
  /** 'prefix', 'window=7', 'momentum=0,decay=0.9', ... */
  workload: string;
  /** Largest standard deviation over the steps. */
  maxError: number;
  /** RMS error over the steps. */
  meanError: number;
}

/** Options of `error` for several workloads that share their noise. */
export interface StackErrorOptions
  extends Omit<
    UnitErrorOptions,
    'workload' | 'strategy' | 'numPaths' | 'seed' | keyof ErrorDetails
  > {
  /** Up to 64 workloads, released together with shared noise, as by `sums`. */
  workloads: readonly Workload[];
  /** Weights of the workloads' squared errors in the mean that is minimised. Default: equal. */
  importance?: ArrayLike<number>;
  /** Default: the strategy that `sums` uses. */
  strategy?: MechanismName | StrategyParameters;
}

/**
 * Errors of one of several workloads; with `beta`, its bounds hold together with the bounds of all
 * other workloads.
 */
export interface WorkloadErrorTogether extends WorkloadError {
  /** Upper bound on the error of every entry at every step. */
  simultaneousError?: number;
  simultaneousMethod?: SimultaneousError['simultaneousMethod'];
  /** Upper bound on the l2-norm of the error at every step. */
  simultaneousNorm?: number;
}

/**
 * Errors of several workloads of one stream that share their noise, at unit noise multiplier. With
 * `beta` every workload has its own bounds: those on entries (`simultaneousError`) hold together
 * for all workloads at all steps with probability at least 1 - beta, and separately those on norms
 * (`simultaneousNorm`).
 */
export interface StackError
  extends Omit<
    UnitError,
    | keyof SimultaneousError
    | ('boundMethod' | 'lowerBoundMinDimension' | 'lowerBoundEveryDimension')
    | ('decoderResidual' | 'residualSteps' | 'raisedByNormalizing' | 'lowerBound')
    | keyof ErrorDetails
  > {
  /**
   * Lower bound on the weighted mean error, for every factorization and records of every dimension.
   */
  lowerBound: number;
  objective: 'mean';
  /**
   * Errors of the workloads, in the given order; `maxError` of this object is the largest
   * `maxError` of a workload.
   */
  workloads: WorkloadErrorTogether[];
  beta?: number;
  dimension?: number;
}

/** Options of `error` for pure-DP totals. */
export interface PureErrorOptions
  extends Omit<Problem, 'workload'>,
    Pick<UnitErrorOptions, 'neighbours' | 'beta' | 'dimension'> {
  epsilon: number;
  delta: 0;
  /** l1-norm to which records are clipped. Default 1. */
  clip?: number;
  /** Default 'tree-k'. */
  strategy?: 'tree-k' | (Pick<StrategyParameters, 'arity' | 'subtractive'> & { name: 'tree-k' });
}

/**
 * Errors of pure-DP totals, in input units, from the discrete Laplace noise released with these
 * options.
 */
export interface PureError
  extends Pick<
    UnitError,
    | ('mechanism' | 'numSteps' | 'workload' | 'participation' | 'maxParticipations' | 'separation')
    | ('neighbours' | 'sensitivity' | 'sensitivityExactness' | 'sensitivityMethod')
    | ('maxError' | 'meanError' | 'effectiveParameters')
  > {
  epsilon: number;
  /** l1-norm to which records are clipped. */
  clipNorm: number;
  beta?: number;
  dimension?: number;
  /**
   * With `beta`: upper bound on the error of every entry at every step that holds with probability
   * at least 1 - beta, by a union bound over steps and entries, rounding included.
   */
  simultaneousError?: number;
  simultaneousMethod?: 'union';
}
