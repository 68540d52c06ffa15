/** Contents of a migration source, with the compatibility of each part, as returned by the management API. */

export type CompatibilityLevel = 'compatible' | 'partial' | 'incompatible';

export interface Compatibility {
  readonly level: CompatibilityLevel;
  readonly reason: string;
  readonly code: string | null;
  readonly warnings: readonly string[];
  readonly manualSteps: readonly string[];
}

export interface SpatialReference {
  readonly role: string;
  readonly sourceValue: string | null;
  readonly srid: number | null;
  readonly crsUri: string | null;
}

export interface InventoryContainer {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly isDefault: boolean | null;
  readonly compatibility: Compatibility;
}

export interface InventoryField {
  readonly name: string;
  readonly fieldType: string;
  readonly alias: string | null;
  readonly nullable: boolean | null;
  readonly domainType: null;
  readonly domainName: null;
  readonly domainValues: readonly never[];
}

export interface InventoryResource {
  readonly id: string;
  readonly containerId: string;
  readonly kind: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly geometryType: string | null;
  readonly featureCount: number | null;
  readonly hasAttachments: boolean | null;
  readonly capabilities: readonly string[];
  readonly fields: readonly InventoryField[];
  readonly spatialReferences: readonly SpatialReference[];
  readonly styleIds: readonly string[];
  readonly externalDependencyIds: readonly string[];
  readonly compatibility: Compatibility;
}

export interface InventoryStyle {
  readonly id: string;
  readonly containerId: string;
  readonly kind: string;
  readonly name: string;
  readonly format: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly resourceIds: readonly string[];
  readonly externalDependencyIds: readonly string[];
  readonly compatibility: Compatibility;
}

export interface InventoryDependency {
  readonly id: string;
  readonly containerId: string;
  readonly resourceId: string | null;
  readonly kind: string;
  readonly name: string;
  readonly dependencyType: string | null;
  readonly address: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly spatialReferences: readonly SpatialReference[];
  readonly compatibility: Compatibility;
}

/** The parts of an inventory, whatever the source. */
interface InventoryParts {
  readonly containers: readonly InventoryContainer[];
  readonly resources: readonly InventoryResource[];
  readonly styles: readonly InventoryStyle[];
  readonly externalDependencies: readonly InventoryDependency[];
}

interface SourceIdentity {
  readonly baseUrl: string;
  readonly displayName: string;
  readonly product: string | null;
  readonly version: string | null;
  readonly build: string | null;
  readonly serviceType: string | null;
}

export type InventoryKind = 'geoserver-rest' | 'arcgis-geoservices-rest';

export interface Scan extends InventoryParts {
  readonly sourceKind: InventoryKind;
  readonly source: SourceIdentity;
  readonly warnings: readonly string[];
  /** Parts that could not be read. */
  readonly missingArtifacts: readonly string[];
}

export const compatible = (reason: string): Compatibility => verdict('compatible', null, reason);

export const partial = (
  code: string,
  reason: string,
  more: Partial<Pick<Compatibility, 'warnings' | 'manualSteps'>> = {},
): Compatibility => verdict('partial', code, reason, more);

export const incompatible = (code: string, reason: string, manualSteps: readonly string[] = []) =>
  verdict('incompatible', code, reason, { manualSteps });

function verdict(
  level: CompatibilityLevel,
  code: string | null,
  reason: string,
  { warnings = [], manualSteps = [] }: Partial<Pick<Compatibility, 'warnings' | 'manualSteps'>> = {},
): Compatibility {
  return { level, reason, code, warnings, manualSteps };
}

/** Numbers of resources and styles by compatibility level. */
export function countLevels(items: readonly { compatibility: Compatibility }[]) {
  const count = (level: CompatibilityLevel) =>
    items.filter(({ compatibility }) => compatibility.level === level).length;
  return {
    compatibleCount: count('compatible'),
    partiallyCompatibleCount: count('partial'),
    incompatibleCount: count('incompatible'),
  };
}

/** Compatibility of all items together. */
export function overall(items: readonly { compatibility: Compatibility }[]): Compatibility {
  const { compatibleCount, partiallyCompatibleCount, incompatibleCount } = countLevels(items);
  if (items.length === 0) return partial('empty', 'The source has no layers and no styles.');
  if (partiallyCompatibleCount + incompatibleCount === 0) return compatible('All of it can be taken over.');
  if (compatibleCount + partiallyCompatibleCount === 0)
    return incompatible('nothing', 'Nothing of it can be taken over.');
  return partial(
    'some',
    `${compatibleCount} of ${items.length} layers and styles can be taken over as they are, ${partiallyCompatibleCount} in part, ${incompatibleCount} not.`,
  );
}

/** A scan that ended before it had read anything. */
export function failedScan(sourceKind: InventoryKind, baseUrl: string, warning: string): Scan {
  const source = {
    baseUrl,
    displayName: new URL(baseUrl).host,
    product: null,
    version: null,
    build: null,
    serviceType: null,
  };
  const nothing = { containers: [], resources: [], styles: [], externalDependencies: [] };
  return { sourceKind, source, ...nothing, warnings: [warning], missingArtifacts: ['source'] };
}
