/**
 * Access rules: roles with grants, access policies of services and layers, row policies and field masks. Names of
 * services, layers and roles can be `*`, which means each of them. A layer is named by the id or the number of its
 * collection.
 */

/** The one service of a server, as permission labels and the management API name it. */
export const SERVICE = 'default';
export const ANY = '*';

/** Operation of a grant: reading, writing, everything (`*`), or a label of the management API. */
export interface Grant {
  readonly service: string;
  readonly layer: string;
  readonly operation: string;
}

export interface Role {
  readonly name: string;
  readonly description: string | null;
  readonly permissions: readonly Grant[];
}

/** A role that every server has. */
export interface BuiltInRole extends Role {
  readonly id: string;
}

/** A layer as rules name it. */
export interface LayerName {
  readonly id: string;
  readonly layerId: number;
  readonly service: string;
}

/** Whether a name consists of digits: it is the number of a layer, also if a collection has this id. */
export const isLayerNumber = (name: string): boolean => /^\d+$/.test(name);

/** Names by which rules, labels and tenants mean a layer. Its access policy is kept under the first one. */
export function listLayerNames({ id, layerId }: Omit<LayerName, 'service'>): readonly [string, ...string[]] {
  const number = String(layerId);
  return isLayerNumber(id) ? [number] : [id, number];
}

/** Scope of a rule. */
export interface RuleScope {
  readonly service: string;
  readonly layer: string;
  readonly role: string;
}

/**
 * Row policy: callers with the role see only rows of the layer whose attribute is one of their claim values and that
 * match the filter.
 */
export interface RowPolicy extends RuleScope {
  /** Null, as the type of the claim, where the filter says it all. */
  readonly attribute: string | null;
  readonly claimType: string | null;
  /** CQL2 text, in which `claim('type')` means values of the caller. Absent in policies of older versions. */
  readonly filter?: string | null;
  readonly comparison: RowComparison;
  readonly description: string | null;
}

/** `in`: any of the claim's values; `equals`: the claim has one value, and it is that. */
export const ROW_COMPARISONS = ['in', 'equals'] as const;
export type RowComparison = (typeof ROW_COMPARISONS)[number];

/** Field mask: the form in which callers with a role receive an attribute. */
export interface FieldMask extends RuleScope {
  readonly attribute: string;
  /** `hide` where an older version wrote the mask. */
  readonly treatment?: Treatment;
  /** Characters that `truncate` leaves. */
  readonly length?: number | null;
  readonly description: string | null;
}

/** From what leaves least: the attribute does not exist, or its values are null, hashes, or their first characters. */
export const TREATMENTS = ['hide', 'null', 'hash', 'truncate'] as const;
export type Treatment = (typeof TREATMENTS)[number];

/** Access policy of a service or a layer. */
export interface DataAccess {
  /** Whether all callers can read the data. */
  readonly allowAnonymous: boolean;
  /** Whether all callers who can read the data can also edit it. */
  readonly allowAnonymousWrite: boolean;
  /** Roles that can read the data if `allowAnonymous` is false. Empty: all callers with a grant to read. */
  readonly allowedRoles: readonly string[];
  /** The same for writing. */
  readonly allowedWriteRoles: readonly string[];
}

/** Policy that allows reading to all callers and editing to callers with a grant. */
export const OPEN_ACCESS: DataAccess = {
  allowAnonymous: true,
  allowAnonymousWrite: false,
  allowedRoles: [],
  allowedWriteRoles: [],
};

const everywhere = (operation: string): Grant => ({ service: ANY, layer: ANY, operation });

/** Callers with a grant read and write. */
export const CLOSED: DataAccess = { ...OPEN_ACCESS, allowAnonymous: false };

/** Access of layers without an access policy, by the setting `access.default`. */
export const DEFAULT_ACCESS = { open: OPEN_ACCESS, closed: CLOSED } as const;

/** Roles that are there from the start, and cannot be changed. */
export const BUILT_IN_ROLES: readonly BuiltInRole[] = [
  builtIn(1, 'reader', 'Reads every layer that is open to grants.', [everywhere('read')]),
  builtIn(2, 'editor', 'Reads and edits features.', ['read', 'write'].map(everywhere)),
  builtIn(
    3,
    'publisher',
    'Reads and edits features; imports, styles and publishes data, and makes tiles.',
    [
      ...['read', 'write', 'admin:read'],
      ...['import', 'styles', 'layer-metadata', 'tile-operations', 'cloud-rasters', 'multidim-coverages'].map(
        (scope) => `admin:${scope}:write`,
      ),
      ...['zarr-stores', 'cache', 'jobs', 'connections', 'layers', 'services'].map(
        (scope) => `admin:${scope}:write`,
      ),
    ].map(everywhere),
  ),
  builtIn(
    4,
    'operator',
    'Looks at everything, and keeps the server running: caches, jobs, streams, alerts, investigations.',
    [
      ...['read', 'admin:read'],
      ...['cache', 'jobs', 'operations', 'streaming', 'tile-operations', 'feature-events'].map(
        (scope) => `admin:${scope}:write`,
      ),
      ...['alerts', 'observability', 'investigations'].map((scope) => `admin:${scope}:write`),
    ].map(everywhere),
  ),
  builtIn(5, 'administrator', 'Does everything; no policy for rows or fields applies.', [everywhere(ANY)]),
];

function builtIn(
  number: number,
  name: string,
  description: string,
  permissions: readonly Grant[],
): BuiltInRole {
  return { id: `00000000-0000-4000-8000-00000000000${number}`, name, description, permissions };
}

/** The permission labels that a grant gives (`services/access/permissions.ts`). */
export function listPermissionLabels({ service, layer, operation }: Grant): readonly string[] {
  const place = formatPlace(service, layer);
  if (operation !== ANY) return [isDataOperation(operation) ? `${operation}:${place}` : operation];
  return service === ANY && layer === ANY ? [ANY] : DATA_OPERATIONS.map((one) => `${one}:${place}`);
}

export const DATA_OPERATIONS = ['read', 'write'] as const;

export function isDataOperation(operation: string): operation is (typeof DATA_OPERATIONS)[number] {
  return operation === 'read' || operation === 'write';
}

function formatPlace(service: string, layer: string): string {
  if (layer !== ANY) return `${service === ANY ? SERVICE : service}/${layer}`;
  return service;
}
