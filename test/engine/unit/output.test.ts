import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { passLines } from '../../../src/supervisor/engine-output.js';

it('passes on what an engine says, without the reports of HDF5', async () => {
  const from = new PassThrough();
  let passed = '';
  passLines(from, (text) => {
    passed += text;
  });
  const report = [
    'HDF5-DIAG: Error detected in HDF5 (1.10.8) thread 1:',
    "  #000: ../../../src/H5A.c line 485 in H5Aopen_by_name(): can't open attribute",
    '    major: Attribute',
    "    minor: Can't open object",
  ].join('\n');
  from.write(`first\n${report.slice(0, 70)}`);
  from.write(`${report.slice(70)}\nERROR 1: second\n    at third\n`);
  from.end('no end of line');
  await new Promise((resolve) => from.on('end', resolve));
  expect(passed).toBe('first\nERROR 1: second\n    at third\nno end of line');
});
