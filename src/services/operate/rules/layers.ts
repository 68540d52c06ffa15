import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { groupItems } from '../../../core/values/group-items.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

/** A layer that is closed because one of its rules of access cannot be applied. */
interface ClosedLayer {
  readonly collection: string;
  readonly message: string;
}

export interface LayerRuleDeps {
  closedLayers(): readonly ClosedLayer[];
  catalog(): CatalogSnapshot;
}

/** Pixels of a raster from which a small map reads too much without overviews. */
const LARGE_PIXELS = 4096 * 4096;

/** Layers that readers miss, and rasters that are slow to draw. */
export function createLayerRules({ closedLayers, catalog }: LayerRuleDeps): OpsRule[] {
  return [
    {
      name: 'layer-closed',
      inspect() {
        const byLayer = groupItems(closedLayers(), ({ collection }) => collection);
        return {
          findings: [...byLayer].map(([collection, closed]) => {
            const messages = closed.map(({ message }) => message).sort();
            return {
              subject: { targetId: `collection:${collection}` },
              severity: 'Critical' as const,
              title: `Layer ${collection} is hidden from callers who have a right to it`,
              explanation: `${messages.join(' ')} The server does not choose between these: restore the column, or change the policy.`,
              evidenceRefs: [`collection:${collection}`],
              facts: { collection, messages },
            };
          }),
        };
      },
    },
    {
      name: 'raster-overviews-missing',
      inspect: () => ({ findings: catalog().collections.flatMap((one) => adviseOverviews(one) ?? []) }),
    },
  ];
}

function adviseOverviews(collection: Collection): FindingDraft | undefined {
  if (!hasCoverage(collection)) return undefined;
  const { id, file, raster } = collection;
  const { width, height, overviewCount } = raster;
  if (overviewCount > 0 || width * height < LARGE_PIXELS) return undefined;
  return {
    subject: { targetId: `collection:${id}` },
    severity: 'Info',
    title: `The raster ${id} has no overviews`,
    explanation: `It has ${width} x ${height} pixels. A map of all of it reads each pixel. Add overviews to ${file} with gdaladdo, or import it: an imported raster gets overviews.`,
    evidenceRefs: [`collection:${id}`],
    facts: { collection: id, width, height, overviewCount },
  };
}
