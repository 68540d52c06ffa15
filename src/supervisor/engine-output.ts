import type { Readable } from 'node:stream';

/**
 * Lines of the reports that HDF5 prints for each attribute that is not there, on every thread but the one that first
 * used it. They tell nothing: what fails is told by the task.
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
