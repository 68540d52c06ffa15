import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GeoServerCatalog, GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import type { RemoteLayer, WfsPlan } from '../../../../core/exchange/ingest.js';
import { makeFolder } from '../../../../core/files/own-folder.js';
import type { Box } from '../../../../core/geometry/box.js';

/** Parameters for requests for a feature type. */
export interface TypeNotes {
  readonly name: string;
  readonly version: string;
  readonly geoJson: string | undefined;
  readonly srid: number | undefined;
}

/** Facts about a layer of the source. */
export interface LayerNotes {
  /** The WFS or WCS that has it. */
  readonly serviceUrl: string;
  /** The WMS that draws it; undefined when it is switched off. */
  readonly mapUrl: string | undefined;
  /** Request parameters of a feature type. */
  readonly type: TypeNotes | undefined;
  readonly name: string;
  readonly workspace: string | undefined;
  readonly title: string | undefined;
  readonly abstract: string | undefined;
  readonly keywords: readonly string[];
  readonly attribution: string | undefined;
  readonly attributionUrl: string | undefined;
  readonly box84: Box | undefined;
  /** Names of the bands of a coverage. */
  readonly bands: readonly string[];
}

/** Stored in the folder of the job, because it is too large for the job's row. */
export interface SourceNotes {
  readonly layers: Readonly<Record<string, LayerNotes>>;
  /** Texts of SLD by the ids of their styles. */
  readonly styles: Readonly<Record<string, string>>;
}

const FILE = 'source.json';

export async function saveNotes(folder: string, notes: SourceNotes): Promise<void> {
  await makeFolder(folder, 0o700);
  const path = join(folder, FILE);
  await writeFile(`${path}.new`, JSON.stringify(notes), { flush: true });
  await rename(`${path}.new`, path);
}

/** Undefined when an earlier run left none. */
export async function savedNotes(folder: string): Promise<SourceNotes | undefined> {
  const text = await readFile(join(folder, FILE), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as SourceNotes);
}

export type ServiceName = 'wfs' | 'wcs' | 'wms';

/** Service URL for a layer. Only the services of an isolated workspace list its layers. */
export function getServiceEndpoint(
  { workspaces, endpoints }: GeoServerCatalog,
  { workspace }: Pick<GeoServerLayer, 'workspace'>,
  service: ServiceName,
): { readonly url: string; readonly isEnabled: boolean } {
  const { url, isEnabled } = endpoints.find((one) => one.service === service)!;
  const isIsolated = workspaces.some((one) => one.name === workspace && one.isIsolated);
  if (!isIsolated) return { url, isEnabled };
  return { url: url.replace(/\/(\w+)$/, `/${encodeURIComponent(workspace!)}/$1`), isEnabled };
}

export function buildLayerNotes(
  layer: GeoServerLayer,
  catalog: GeoServerCatalog,
  type: TypeNotes | undefined,
): LayerNotes {
  const { name, workspace, resource, attribution, attributionUrl } = layer;
  const maps = getServiceEndpoint(catalog, layer, 'wms');
  return {
    serviceUrl: getServiceEndpoint(catalog, layer, type ? 'wfs' : 'wcs').url,
    mapUrl: maps.isEnabled ? maps.url : undefined,
    type,
    name,
    workspace,
    attribution,
    attributionUrl,
    title: resource?.title,
    abstract: resource?.abstract,
    keywords: resource?.keywords ?? [],
    box84: resource?.box84,
    bands: resource?.bands ?? [],
  };
}

/** A layer among the feature types of a WFS. */
export function findFeatureType({ id, name }: GeoServerLayer, plan: WfsPlan): TypeNotes | undefined {
  const find = (text: string): RemoteLayer | undefined => plan.types.find((one) => one.name === text);
  const type = find(id) ?? find(name);
  return type && { name: type.name, version: plan.version, geoJson: plan.geoJson, srid: type.srid };
}
