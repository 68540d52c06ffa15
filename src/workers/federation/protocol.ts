import { TaskFailure, type TaskFailureCode } from '../../core/errors/failure.js';
import type { FederatedSetting, FederatedSource } from '../../core/federation/federated-source.js';
import type { PushedQuery } from '../../core/federation/push-down.js';
import type { Field, FieldType, GeometryType, VectorSource } from '../../core/sources/vector-source.js';
import type { VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import type { RemoteAccess } from '../exchange/ingest/http.js';
import type { FeatureJson } from '../exchange/ingest/pages.js';

/** Features of one response, in the order of the source. */
export interface FederatedPage {
  readonly features: readonly FeatureJson[];
  /** CRS of the coordinates, in x,y order. */
  readonly crs: string;
  /** Position of the next page. Undefined: there is none. */
  readonly next?: string | undefined;
  /** Number of features of all pages, as the source says. */
  readonly matched?: number | undefined;
}

/** Requests to one kind of sources. */
export interface FederatedProtocol {
  describe(setting: FederatedSetting, asking: RemoteAccess): Promise<VectorLayerInfo>;
  /** Reads a page that starts at a position, by default at the first feature. */
  readPage(
    source: FederatedSource,
    query: PushedQuery,
    page: { readonly position: string | undefined; readonly size: number },
    asking: RemoteAccess,
  ): Promise<FederatedPage>;
  /** Reads the features with these ids that exist. */
  readIds(source: FederatedSource, ids: readonly string[], asking: RemoteAccess): Promise<FederatedPage>;
}

/** Number of ids in one call of `readIds`. */
export const IDS_OF_PAGE = 16;

export const FEDERATED_CRS = 'OGC:CRS84';

/** A field as a federated source declares it. */
export function federatedField(name: string, type: FieldType, more: Partial<Field> = {}): Field {
  return { name, type, nullable: true, ...more };
}

/** Name for a column that no field has. */
export function chooseColumn(fields: readonly Pick<Field, 'name'>[], name: string): string {
  const taken = new Set(fields.map((field) => field.name.toLowerCase()));
  let column = name;
  for (let n = 2; taken.has(column); n++) column = `${name}_${n}`;
  return column;
}

/** The geometry type of some features. */
export function findGeometryType(features: readonly FeatureJson[]): GeometryType {
  const types = new Set<string>();
  for (const { geometry } of features) {
    const [, type] = /"type"\s*:\s*"(\w+)"/.exec(geometry) ?? [];
    if (type !== undefined) types.add(type);
  }
  const [type, ...others] = types;
  return type === undefined || others.length > 0 ? 'Geometry' : (type as GeometryType);
}

/** Members of all federated sources. */
export const FEDERATED_MEMBERS = {
  kind: 'federated',
  hasIndex: false,
  idGenerated: true,
  crs: FEDERATED_CRS,
  writable: false,
  readOnly: 'it is a layer of another server',
} as const satisfies Partial<VectorSource>;

/** Failures of a source that are not faults of the client's request. */
const CODES: Readonly<Partial<Record<TaskFailureCode, TaskFailureCode>>> = {
  'invalid-input': 'store-unavailable',
  'source-missing': 'source-unreadable',
  'access-denied': 'source-unreadable',
  'no-data': 'source-unreadable',
};

/** A failure with the id of its source. */
export function nameFederatedSource(id: string, error: unknown): unknown {
  if (!(error instanceof TaskFailure) || error.code === 'cancelled') return error;
  const message = `The source '${id}' cannot be queried: ${error.message}`;
  return new TaskFailure(CODES[error.code] ?? error.code, message, error.cause_, error.retryAfterMs);
}
