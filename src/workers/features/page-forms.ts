import type { PageForm } from '../../core/features/features.js';
import { itemRows, type RowFeature } from '../../core/features/item-rows.js';
import type { MapResultsForm, MapSearch } from '../../core/features/map-results.js';
import { featuresIn } from '../../core/geoservices/geoservices-features.js';
import { isExactNumber } from '../../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../../core/values/json.js';
import { MAX_VARINT, writeVarint } from '../../core/values/varints.js';

/** Other forms of pages, converted from the store's output, so that the gateway only joins pages. */

/** Returns the features of a page in another form. */
export function inPageForm(features: Uint8Array, form: PageForm): Uint8Array {
  switch (form.kind) {
    case 'ids':
      return Buffer.from(idList(features));
    case 'packed-ids':
      return packedIds(idList(features));
    case 'rows':
      return Buffer.from(itemRows(rowFeatures(features), form));
    case 'map-results':
      return Buffer.from(mapResults(features, form));
  }
}

function packedIds(list: string): Uint8Array {
  const ids = list === '' ? [] : list.split(',').map(BigInt);
  const bytes = Buffer.allocUnsafe(ids.length * MAX_VARINT);
  let at = 0;
  for (const id of ids) at = writeVarint(id, bytes, at);
  return bytes.subarray(0, at);
}

const rowFeatures = (features: Uint8Array) =>
  parseJsonExactly(`[${Buffer.from(features).toString()}]`, ['properties']) as RowFeature[];

/** Ids separated by commas. A CSV record is the id, an empty geometry and the end of the line. */
function idList(records: Uint8Array): string {
  return Buffer.from(records)
    .toString()
    .trimEnd()
    .replaceAll(/,?\r\n/g, ',')
    .replace(/,$/, '');
}

interface Feature {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly geometry?: object | null;
}

/** Results as JSON, separated by commas. `features`: Esri JSON. */
function mapResults(features: Uint8Array, form: MapResultsForm): string {
  const { layerId, layerName, displayField, titles, geometryType, spatialReference, search, pretty } = form;
  const result = ({ attributes, geometry }: Feature) => ({
    layerId,
    layerName,
    displayFieldName: displayField,
    value: formatText(attributes[displayField]),
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [titles[name] ?? name, formatText(value)]),
    ),
    ...(geometry ? { geometryType, geometry: { ...geometry, spatialReference } } : {}),
    ...(search ? foundIn(attributes, search) : {}),
  });
  return (featuresIn(features) as Feature[])
    .map((feature) => stringifyExactly(result(feature), pretty ? '  ' : ''))
    .join();
}

/** Returns the first field that contains the text, and its value. */
function foundIn(attributes: Feature['attributes'], { fields, text, contains }: MapSearch) {
  const sought = text.toLowerCase();
  const found = fields.find((name) => {
    const value = formatText(attributes[name]).toLowerCase();
    return contains ? value.includes(sought) : value === sought;
  });
  return found === undefined ? {} : { foundFieldName: found, value: formatText(attributes[found]) };
}

/** A value as people read it. */
function formatText(value: unknown): string {
  if (isExactNumber(value)) return String(value);
  return value === null || value === undefined ? 'Null' : String(value);
}
