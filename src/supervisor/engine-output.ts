import type { Readable } from 'node:stream';

/**
 * Lines that HDF5 prints for each missing attribute, on every thread except the one that used it first. They contain
 * no information: the task reports its own errors.
 */
const REPORT = /^(HDF5-DIAG: | {2}#\d{3}: .* in H5| {4}(major|minor): )/;

/** Passes on the lines that an engine writes to standard error, without HDF5's reports. */
export function passLines(from: Readable, write: (text: string) => void): void {
  let rest = '';
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    const own = lines.filter((line) => !REPORT.test(line));
    if (own.length > 0) write(`${own.join('\n')}\n`);
  });
  from.on('end', () => {
    if (rest !== '' && !REPORT.test(rest)) write(rest);
  });
}
