// SPDX-License-Identifier: Apache-2.0

// The page's icon: a count with fresh noise and the same count with correlated noise. One drawing,
// as SVG and as PNG.

import { crc32, deflateSync } from 'node:zlib';

type Point = readonly [number, number];
type Colour = readonly [number, number, number];

interface Line {
  readonly points: readonly Point[];
  readonly width: number;
  readonly colour: Colour;
}

const SIDE = 64;
const background: Colour = [11, 95, 165];
/** Lines within the central circle of 80 %, all that some systems show of an icon. */
const lines: readonly Line[] = [
  {
    points: [[13, 46], [20, 27], [26, 47], [32, 20], [39, 42], [45, 17], [51, 34]],
    width: 2.5,
    colour: [143, 193, 232],
  },
  { points: [[13, 47], [22, 39], [30, 36], [40, 26], [51, 20]], width: 5.5, colour: [255, 255, 255] },
];

export function iconSvg(): string {
  const drawn = lines.map(({ points, width, colour }) => {
    const rest = `stroke="rgb(${colour})" stroke-width="${width}" stroke-linecap="round"`;
    return `<polyline points="${points.join(' ')}" fill="none" ${rest} stroke-linejoin="round"/>`;
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE} ${SIDE}">` +
    `<rect width="${SIDE}" height="${SIDE}" fill="rgb(${background})"/>${drawn.join('')}</svg>\n`
  );
}

/** Returns the distance of a point from the segment between two others. */
function distance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay];
  const along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

/** Returns the share of a pixel of the given width that a line covers. */
function coverage({ points, width }: Line, at: Point, pixel: number): number {
  const pieces = points.slice(1).map((end, i) => distance(at, points[i]!, end));
  return Math.min(1, Math.max(0, (width / 2 - Math.min(...pieces)) / pixel + 0.5));
}

function colourAt(at: Point, pixel: number): number[] {
  let colour: readonly number[] = background;
  for (const line of lines) {
    const share = coverage(line, at, pixel);
    colour = colour.map((value, i) => value + share * (line.colour[i]! - value));
  }
  return colour.map(Math.round);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Returns the icon as a PNG with `size` pixels per side. */
export function iconPng(size: number): Buffer {
  const pixel = SIDE / size;
  const rows = Array.from({ length: size }, (_, y) => {
    // Each row begins with its filter type, 0 for none.
    const row = [0];
    for (let x = 0; x < size; ++x) row.push(...colourAt([(x + 0.5) * pixel, (y + 0.5) * pixel], pixel));
    return Buffer.from(row);
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2], 8); // 8 bits each of red, green and blue
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
