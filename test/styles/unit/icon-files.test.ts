import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { IconFiles } from '../../../src/workers/maps/icons.js';

it('writes one file for all names that are no icon: they may come from features', () => {
  const icons = new IconFiles();
  const unknown = new Set(Array.from({ length: 50 }, (_, i) => icons.file(`nothing-${i}`)));
  const colours = { fill: '#ff0000' };
  const known = [icons.file('town-hall'), icons.file('town-hall', colours), icons.file('town-hall')];
  expect(unknown.size).toBe(1);
  expect(new Set(known).size).toBe(2);
  for (const path of [...unknown, ...known]) rmSync(path, { force: true });
});
