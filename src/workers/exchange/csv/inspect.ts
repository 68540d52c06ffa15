import type { CsvInspection, CsvTextColumn } from '../../../core/values/csv.js';
import { plainFile } from '../../gdal/gdal.js';
import type { CsvGeometry } from './columns.js';
import { type CsvLayout, readCsvLayout } from './layout.js';
import { readCsvRecords } from './text.js';

/** Task `ogr.inspectCsv`: reads the complete file. */
export async function inspectCsv({ path }: { path: string }): Promise<CsvInspection> {
  await plainFile(path);
  const reading = await readCsvLayout(path);
  const { encoding, encodingReason, separator, commas, geometry } = reading;
  const texts = await textsAmongNumbers(reading);
  const inspection = { encoding, encodingReason, separator, commas, texts };
  return geometry ? { ...inspection, geometry: formatWords(geometry) } : inspection;
}

const LIKE_A_NUMBER = /^[+-]?\d*\.?\d+([eE][+-]?\d+)?$/;

function formatWords(geometry: CsvGeometry): string {
  if (geometry.encoding === 'coordinates') return `the columns ${geometry.x} and ${geometry.y}`;
  return `the column ${geometry.column}, ${geometry.encoding}`;
}

interface Tally {
  numbers: number;
  others: number;
  /** First value that makes the column a text column. */
  first?: Omit<CsvTextColumn, 'column'>;
}

async function textsAmongNumbers(reading: CsvLayout): Promise<CsvTextColumn[]> {
  const tallies = reading.columns.map((): Tally => ({ numbers: 0, others: 0 }));
  const commas = new Set(reading.commas.map((column) => reading.columns.indexOf(column)));
  let number = 0;
  for await (const record of readCsvRecords(reading)) {
    if (number > 0)
      for (const [i, tally] of tallies.entries()) {
        if (record[i] && !commas.has(i)) count(tally, record[i], number);
      }
    number++;
  }
  return tallies.flatMap(({ numbers, others, first }, i) => {
    if (!first || numbers < others) return [];
    return [{ column: reading.columns[i]!, ...first }];
  });
}

function count(tally: Tally, value: string, record: number): void {
  if (LIKE_A_NUMBER.test(value)) tally.numbers++;
  else tally.others++;
  if (tally.first) return;
  const reason = findReason(value);
  if (reason !== undefined) tally.first = { value, record, reason };
}

/** Digits that a number in JSON surely keeps: the native `gr_text_type` has the same rules. */
const MAX_DIGITS = 15;

/** Returns the reason why a value cannot be stored as a number without loss. Undefined if it can. */
function findReason(value: string): string | undefined {
  if (!LIKE_A_NUMBER.test(value)) return 'is not a number';
  if (value.startsWith('+')) return 'has a plus sign';
  if (/^-?0\d/.test(value)) return 'has a leading zero';
  const [mantissa = '', exponent] = value.split(/e/i);
  if (mantissa.replace(/\D/g, '').length > MAX_DIGITS) return 'has more digits than a number keeps';
  return exponent !== undefined && !mantissa.includes('.') ? 'may be a code' : undefined;
}
