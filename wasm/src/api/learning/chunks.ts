// SPDX-License-Identifier: Apache-2.0

// Joins chunks of a simulation.

import type { SimulationChunk } from '../../types/all.js';

function join<A extends Float64Array | Uint8Array>(parts: A[], empty: A): A {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const whole = new (empty.constructor as new (length: number) => A)(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function joinChunks(chunks: SimulationChunk[]): SimulationChunk {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const doubles = (pick: (chunk: SimulationChunk) => Float64Array) =>
    join(chunks.map(pick), new Float64Array());
  const bytes = (pick: (chunk: SimulationChunk) => Uint8Array) =>
    join(chunks.map(pick), new Uint8Array());
  return {
    firstStep: first?.firstStep ?? 0,
    steps: chunks.reduce((sum, chunk) => sum + chunk.steps, 0),
    trueSums: doubles((chunk) => chunk.trueSums),
    noisySums: doubles((chunk) => chunk.noisySums),
    stddev: doubles((chunk) => chunk.stddev),
    privateLoss: doubles((chunk) => chunk.privateLoss),
    twinLoss: doubles((chunk) => chunk.twinLoss),
    privateCorrect: bytes((chunk) => chunk.privateCorrect),
    twinCorrect: bytes((chunk) => chunk.twinCorrect),
    regret: {
      steps: doubles((chunk) => chunk.regret.steps),
      private: doubles((chunk) => chunk.regret.private),
      twin: doubles((chunk) => chunk.regret.twin),
      gap: doubles((chunk) => chunk.regret.gap),
    },
  };
}
