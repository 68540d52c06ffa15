import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { picture, sources } from './imports.mjs';

const text = readFileSync('docs/architecture.md', 'utf8');

it('the picture of the layers is that of the code: node test/layers/imports.mjs --picture', () => {
  expect(/^```mermaid\n[\s\S]*?^```$/m.exec(text)?.[0]).toBe(picture(sources()));
});

/** `src/workers/{vector,raster}` and `src/cli, src/supervisor` are several rooms. */
const expanded = (cell: string): string[] =>
  cell.split(/,\s*(?![^{]*\})/).flatMap((name) => {
    const [, head, names] = /^(.*)\{(.*)\}$/.exec(name) ?? [];
    return names === undefined ? [name] : names.split(',').map((one) => head + one.trim());
  });

it('every room of the table is there, and every layer has a row', () => {
  const rooms = [...text.matchAll(/^\| (src\/[^|]+?) \|/gm)].flatMap(([, cell]) => expanded(cell!));
  expect(rooms.length).toBeGreaterThan(20);
  expect(rooms.filter((room) => !existsSync(room))).toEqual([]);
  const layers = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const unnamed = layers.filter(({ name }) => !rooms.some((room) => room.startsWith(`src/${name}`)));
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});
