import { copyFile, mkdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allFaces, isBuiltFace } from '../dist/core/styles/fonts.js';
import { writeLicences } from './licences.mjs';

/** Copies the fonts that styles may name to dist/fonts: their packages hold as much again that nobody reads. */
const require = createRequire(import.meta.url);
const dist = join(dirname(fileURLToPath(import.meta.url)), '../dist');
const out = join(dist, 'fonts');

const files = allFaces()
  .filter(isBuiltFace)
  .map(({ file }) => require.resolve(file));
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await Promise.all(files.map((file) => copyFile(file, join(out, basename(file)))));
await writeLicences(join(dist, 'licences/fonts.txt'), 'Fonts in dist/fonts, and their licences.', files);
