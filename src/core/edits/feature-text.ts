import { findStringEnd } from '../values/json-bounds.js';
import type { GeometryLoss } from './edits.js';

/** The parts of a feature as our writers write it: `{"type":"Feature","id":1,"geometry":...,"properties":{...}}`. */
export interface FeatureText {
  id: string;
  /** The id as JSON. */
  idText: string;
  /** GeoJSON geometry or `null`. */
  geometry: string;
  /** Why the geometry is not the stored one; only of features that were written with `loss`. */
  loss?: GeometryLoss;
  properties: string;
}

const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const ID = '"id":';
const GEOMETRY = ',"geometry":';
const LOSS = ',"loss":"';
const PROPERTIES = ',"properties":';

/** Splits a feature without parsing it: quotes are escaped inside ids, and geometries do not contain such text. */
export function featureText(bytes: Uint8Array): FeatureText {
  return parseParts(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}

/** The same of each feature of a page, which are separated by commas. */
export function featureTexts(bytes: Uint8Array): FeatureText[] {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const features: FeatureText[] = [];
  let depth = 0;
  let begin = 0;
  for (let i = 0; i < page.length; i++) {
    const byte = page[i];
    if (byte === QUOTE) i = findStringEnd(page, i + 1);
    else if (byte === OPEN && depth++ === 0) begin = i;
    else if (byte === CLOSE && --depth === 0) features.push(parseParts(page.toString('utf8', begin, i + 1)));
  }
  return features;
}

function parseParts(text: string): FeatureText {
  const geometry = text.indexOf(GEOMETRY);
  const properties = text.indexOf(PROPERTIES, geometry);
  const id = text.slice(text.indexOf(ID) + ID.length, geometry);
  const [shape, loss] = text.slice(geometry + GEOMETRY.length, properties).split(LOSS) as [string, string?];
  return {
    idText: id,
    id: id.startsWith('"') ? JSON.parse(id) : id,
    geometry: shape,
    ...(loss === undefined ? {} : { loss: loss.slice(0, -1) as GeometryLoss }),
    properties: text.slice(properties + PROPERTIES.length, -1),
  };
}
