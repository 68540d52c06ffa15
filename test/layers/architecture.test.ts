import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { picture, roomTable, sources } from './imports.mjs';

const text = readFileSync('docs/explanation/architecture.md', 'utf8');

it('the picture of the layers is that of the code: node test/layers/imports.mjs --picture', () => {
  expect(/^```mermaid\n[\s\S]*?^```$/m.exec(text)?.[0]).toBe(picture(sources()));
});

it('the tables of the rooms are those of rooms.mjs: node test/layers/imports.mjs --rooms', () => {
  expect(text).toContain(roomTable());
});

it('every layer is named', () => {
  const layers = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const unnamed = layers.filter(
    ({ name }) => !text.includes(`| src/${name} |`) && !text.includes(`### src/${name}\n`),
  );
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});
