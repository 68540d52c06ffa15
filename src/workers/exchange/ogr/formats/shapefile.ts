/** Shapefiles whose text encoding GDAL does not detect, or whose values GDAL changes. */

import { isAscii, isUtf8 } from 'node:buffer';
import { open, readFile, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { xmlEscaped } from '../../../../core/values/xml-text.js';
import { nameDriver, noteDataset } from '../../../gdal/dataset-notes.js';
import { type Dataset, gdal, openWith } from '../../../gdal/gdal.js';
import { openInScratch } from '../../../gdal/scratch.js';
import { findSidecar, requirePlainPrj } from '../../../gdal/sidecars.js';
import { findCharacterEnd, likelyEncoding, parseEncodingLabel } from '../../csv/text.js';
import { describeTruncation } from '../unreadable.js';
import { vrtFields } from '../virtual-fields.js';
import { copyWithForms, readDbfForms } from './dbf.js';

const DRIVER = 'ESRI Shapefile';
/** Bytes of records from which the encoding is detected. */
const SAMPLE_BYTES = 1 << 20;
/** Labels that GDAL interprets correctly. */
const KNOWN_LABEL = /^(utf-?8|cp\d+|\d+|iso-?8859-\d+|ldid\/\d+)$/i;

export async function openShapefile(path: string): Promise<Dataset> {
  await requirePlainPrj(path);
  const assumed = await encodingFor(path);
  const encoding = assumed && gdalName(assumed.encoding);
  const dataset = await keepValues(await openEncoded(path, encoding), path, encoding);
  const truncation = await describeTruncation(path);
  if (truncation !== undefined)
    noteDataset(dataset, `${truncation} Features after that byte have no geometry.`);
  if ((await findSidecar(path, '.dbf')) === undefined)
    noteDataset(
      dataset,
      `The file ${basename(path, extname(path))}.dbf is missing, so the features have no attributes.`,
    );
  if (assumed?.reason !== undefined)
    noteDataset(
      dataset,
      `The strings were read as ${assumed.encoding}, because ${assumed.reason}. A .cpg file in the same folder can set another encoding.`,
    );
  return dataset;
}

async function openEncoded(path: string, encoding: string | undefined): Promise<Dataset> {
  if (encoding === undefined) return openWith(path, [DRIVER]);
  // Only the synchronous call hands open options on (gdal-async 3.12).
  return gdal.drivers.get(DRIVER).open(path, 'r', { ENCODING: encoding });
}

/** The dataset, or one of a copy whose fields have the types of their values. */
async function keepValues(dataset: Dataset, path: string, encoding: string | undefined): Promise<Dataset> {
  const table = await findSidecar(path, '.dbf');
  const layer = dataset.layers.get(0);
  const names = layer.fields.getNames();
  const forms = table === undefined ? undefined : await readDbfForms(table, names);
  if (!forms) return dataset;
  const { types, dates, notes } = forms;
  const fields = layer.fields.map(({ name, type }, i) => ({ name, type: types.get(i) ?? type }));
  let result = dataset;
  if (types.size > 0 || dates.size > 0) {
    const { name } = layer;
    dataset.close();
    result = await openInScratch('shapefile', async (folder) => {
      const copy = await copyWithForms(path, table!, forms, folder);
      if ([...types.values()].every((type) => type === 'string')) return openEncoded(copy, encoding);
      const wrapper = join(folder, 'table.vrt');
      const option =
        encoding === undefined ? '' : `<OpenOptions><OOI key="ENCODING">${encoding}</OOI></OpenOptions>`;
      await writeFile(
        wrapper,
        `<OGRVRTDataSource><OGRVRTLayer name="${xmlEscaped(name)}"><SrcDataSource>${xmlEscaped(copy)}</SrcDataSource>${option}<SrcLayer>${xmlEscaped(name)}</SrcLayer>${vrtFields(fields)}</OGRVRTLayer></OGRVRTDataSource>`,
      );
      return openWith(wrapper, ['OGR_VRT']);
    });
    nameDriver(result, DRIVER);
  }
  for (const note of notes) noteDataset(result, note);
  return result;
}

interface EncodingGuess {
  /** Name of the Encoding Standard. */
  encoding: string;
  /** Absent where the file states it. */
  reason?: string;
}

/** Returns the encoding that GDAL needs as an option. Undefined if GDAL detects it, or if all text is ASCII. */
async function encodingFor(path: string): Promise<EncodingGuess | undefined> {
  const [table, label] = await Promise.all([findSidecar(path, '.dbf'), findLabel(path)]);
  if (table === undefined) return undefined;
  const { language, values } = await readTexts(table);
  const stated = label === undefined ? undefined : parseEncodingLabel(label);
  const isUnicode = values.every((value) => isUtf8(value));
  if (stated === 'utf-8' && !isUnicode)
    return { ...detected(values), reason: 'they are not UTF-8, as the .cpg file says, and this fits best' };
  if (stated !== undefined) return KNOWN_LABEL.test(label!) ? undefined : { encoding: stated };
  if ((label === undefined && language !== 0) || values.every((value) => isAscii(value))) return undefined;
  const what =
    label === undefined
      ? 'the file names no encoding'
      : `the .cpg file names an unknown one ('${label.slice(0, 40)}')`;
  const why = isUnicode ? 'all of them are valid' : 'this fits best';
  return { ...detected(values), reason: `${what} and ${why}` };
}

function detected(values: readonly Uint8Array[]): EncodingGuess {
  if (values.every((value) => isUtf8(value))) return { encoding: 'utf-8' };
  const lines = values.flatMap((value) => [value, Buffer.from('\n')]);
  return { encoding: likelyEncoding(Buffer.concat(lines)) };
}

const gdalName = (encoding: string) => encoding.toUpperCase().replace('WINDOWS-', 'CP');

async function findLabel(path: string): Promise<string | undefined> {
  const file = await findSidecar(path, '.cpg');
  return file === undefined ? undefined : (await readFile(file, 'latin1')).trim();
}

const [HEADER, FIELD, END] = [32, 32, 0x0d];

/** The language of a dBASE file, and the texts of its first records and of the names of its fields. */
async function readTexts(path: string): Promise<{ language: number; values: Uint8Array[] }> {
  const file = await open(path);
  try {
    const head = (await file.read(Buffer.alloc(HEADER), 0, HEADER, 0)).buffer;
    const [headSize, size] = [head.readUInt16LE(8), head.readUInt16LE(10)];
    const { buffer: fields } = await file.read(Buffer.alloc(headSize), 0, headSize, 0);
    const { columns, names } = readColumns(fields);
    const count = Math.min(head.readUInt32LE(4), Math.floor(SAMPLE_BYTES / Math.max(1, size)));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count * size), 0, count * size, headSize);
    const values: Uint8Array[] = [...names];
    for (let at = 0; at + size <= bytesRead; at += size)
      for (const { offset, length } of columns)
        values.push(textIn(buffer.subarray(at + offset, at + offset + length)));
    return { language: head[29]!, values: values.filter(({ length }) => length > 0) };
  } finally {
    await file.close();
  }
}

/** Text columns within a record, which starts with a deletion mark. */
function readColumns(fields: Buffer) {
  const columns: { offset: number; length: number }[] = [];
  const names: Uint8Array[] = [];
  let offset = 1;
  for (let at = HEADER; at + FIELD <= fields.length && fields[at] !== END; at += FIELD) {
    const length = fields[at + 16]!;
    if (fields[at + 11] === 'C'.charCodeAt(0)) columns.push({ offset, length });
    const end = fields.subarray(at, at + 11).indexOf(0);
    names.push(fields.subarray(at, at + (end < 0 ? 11 : end)));
    offset += length;
  }
  return { columns, names };
}

/** Returns a value without its blanks. A value that fills its column can end within a character. */
function textIn(cell: Buffer): Uint8Array {
  let end = cell.length;
  while (end > 0 && (cell[end - 1] === 0x20 || cell[end - 1] === 0)) end--;
  const value = cell.subarray(0, end);
  return end === cell.length && !isUtf8(value) ? value.subarray(0, findCharacterEnd(value)) : value;
}
