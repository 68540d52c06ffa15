import { shownField } from '../../core/access/field-masks.js';
import type { FeatureOutput } from '../../core/features/features.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';
import { xmlName } from '../../core/values/xml-name.js';
import { hasLongitudes } from '../../native/index.js';

/** Whether a writer reads geometries, even if it only writes their centroids. */
export const readsGeometry = ({ skipGeometry, centroid }: FeatureOutput) =>
  !skipGeometry || centroid === true;

/** Options of the native writers of features, as JSON text: see docs/contributing/sqlite-functions.md. */
export function writerOptions(
  source: VectorSource,
  output: FeatureOutput & { maxBytes?: number },
  fields: readonly Field[],
): string {
  const { gml } = output;
  return JSON.stringify({
    fields: fields.map(shownField).map(({ name, type }) => ({ name: gml ? xmlName(name) : name, type })),
    from: source.crs,
    to: output.crs,
    swap: output.swapAxes,
    precision: output.precision,
    maxBytes: output.maxBytes,
    tolerance: output.tolerance,
    loss: output.loss,
    guardsFormulas: output.guardsFormulas,
    idProperty: output.idProperty,
    ...(output.format.startsWith('esri-')
      ? {
          id: source.idColumn,
          skipGeometry: output.skipGeometry,
          z: output.z,
          ...(output.centroid ? { centroid: true, degrees: hasLongitudes(source.crs) } : {}),
          quantisation: output.quantisation,
        }
      : {}),
    ...(gml ? { ...gml, geometry: xmlName(source.geometryColumn) } : {}),
  });
}
