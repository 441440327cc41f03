// SPDX-License-Identifier: Apache-2.0

// --strategy C.csv and --decoder B.csv: an encoder, and a decoder to check against it, as rows of
// numbers without a header. Each row has full length or ends at the diagonal.

import { decoderFault } from '../../api/decoder.js';
import { readWorkload } from '../../api/problem.js';
import { encoderFault, faultText, parseRows, type MatrixFault } from '../../shared/encoder.js';
import type { EncoderStrategy, Workload } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { readTextFile } from './json-file.js';

function refuse(fault: MatrixFault | undefined, file: string): void {
  if (fault) throw new Misuse(`${file}: ${faultText(fault, '--measure of dp-ftrl queries')}`);
}

/** @param file  the option and the file, as given. */
function readRows(text: string, file: string): number[][] {
  const { rows, fault } = parseRows(text);
  refuse(fault, file);
  return rows;
}

/** Parses the rows of an encoder from the text of a file. */
export function parseEncoder(text: string, path: string): EncoderStrategy {
  const file = `--strategy ${path}`;
  const encoder = readRows(text, file);
  refuse(encoderFault(encoder), file);
  return { encoder };
}

/** @throws Misuse unless the file holds the decoder of the encoder for the workload. */
export async function checkDecoder(
  path: string,
  { encoder }: EncoderStrategy,
  workload: Workload,
): Promise<void> {
  const file = `--decoder ${path}`;
  const decoder = readRows(await readTextFile('decoder', path), file);
  const read = readWorkload('decoder', workload, encoder.length);
  refuse(decoderFault(decoder, { encoder, workload: read }), file);
}
