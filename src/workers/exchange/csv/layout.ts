/** Layout of a CSV file, with the reasons for it. */

import { TaskFailure } from '../../../core/errors/failure.js';
import { type CsvGeometry, findCsvGeometry } from './columns.js';
import { type CsvText, detectCsvFormat, readCsvRecords } from './text.js';

/** Records by which columns are judged before all are read. */
const SAMPLE = 200;

export interface CsvLayout extends CsvText {
  columns: string[];
  geometry: CsvGeometry | undefined;
  /** Columns of numbers with a decimal comma. */
  commas: string[];
}

export async function readCsvLayout(path: string): Promise<CsvLayout> {
  const text = await detectCsvFormat(path);
  const { columns, records } = await loadHead(text);
  const samples = columns.map((_, i) => records.find((record) => record[i])?.[i] ?? '');
  const geometry = findCsvGeometry(columns, samples);
  const likely = columns.filter((_, i) => isWithCommas(records.map((record) => record[i] ?? '')));
  const commas = text.separator === ',' || likely.length === 0 ? [] : await withCommas(text, columns, likely);
  return { ...text, columns, geometry, commas: agreed(commas, geometry) ? commas : [] };
}

/** Whether OGR's driver can read the unchanged text. */
export function isPlain({ encoding, geometry, commas }: CsvLayout): boolean {
  const isKnown = geometry?.encoding !== 'GeoJSON' && geometry?.encoding !== 'latitude, longitude';
  return encoding === 'utf-8' && isKnown && commas.length === 0;
}

async function loadHead(text: CsvText): Promise<{ columns: string[]; records: string[][] }> {
  const records: string[][] = [];
  for await (const record of readCsvRecords(text)) {
    if (records.push(record) > SAMPLE) break;
  }
  const columns = records.shift();
  if (!columns) throw new TaskFailure('source-unreadable', 'The file is empty. Send a file with data.');
  return { columns, records };
}

const WITH_COMMA = /^\s*[+-]?\d+,\d+\s*$/;
const NUMBER = /^\s*([+-]?\d+(,\d+)?)?\s*$/;

function isWithCommas(values: readonly string[]): boolean {
  return values.some((value) => WITH_COMMA.test(value)) && values.every((value) => NUMBER.test(value));
}

/** Returns the columns, out of these, whose values are all numbers with decimal commas. */
async function withCommas(
  text: CsvText,
  columns: readonly string[],
  likely: readonly string[],
): Promise<string[]> {
  const places = new Map(likely.map((column) => [column, columns.indexOf(column)]));
  let isHead = true;
  for await (const record of readCsvRecords(text)) {
    if (isHead) isHead = false;
    else for (const [column, i] of places) if (!NUMBER.test(record[i] ?? '')) places.delete(column);
    if (places.size === 0) break;
  }
  return [...places.keys()];
}

/**
 * Whether the commas are decimal commas. A comma before three digits can also separate thousands; only the
 * coordinates of a file show which is the case.
 */
function agreed(commas: readonly string[], geometry: CsvGeometry | undefined): boolean {
  return geometry?.encoding !== 'coordinates' || commas.includes(geometry.x) || commas.includes(geometry.y);
}
