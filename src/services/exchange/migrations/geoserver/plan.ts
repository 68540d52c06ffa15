import type { GeoServerCatalog, GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import type { Compatibility } from '../inventory.js';
import { formatStoreId, type GeoServerAssessment } from './assessment.js';
import { unprocessable } from './choice.js';
import { type GroupPlan, groupsById, listGroupMembers, planLayerGroups } from './groups.js';
import { createUniqueName, formatTargetName } from './names.js';
import type { MigrationRequest, UnsupportedPolicy } from './request.js';

/** A part of the source that is not imported, and the manual steps for it. */
export interface LeftPart {
  readonly kind: 'layer' | 'store' | 'style' | 'layerGroup' | 'gridset';
  readonly id: string;
  readonly code: string;
  readonly reason: string;
  readonly manualSteps: readonly string[];
  /** The settings, as YAML, that take the place of it. */
  readonly configuration?: string;
}

/** A layer that is imported. */
export interface LayerPlan {
  /** The source's id for it: `topp:states`. */
  readonly id: string;
  readonly kind: 'featureType' | 'coverage';
  /** Id of the collection that it becomes. */
  readonly collection: string;
  /** Warnings about parts that are not imported. */
  readonly warnings: readonly string[];
  /** Default style, if it is imported; else null. */
  readonly styleId: string | null;
  /** Other imported styles. */
  readonly otherStyles: readonly string[];
}

/** A gridset in which layers were cached, and the tile matrix set that has its tiles. */
export interface TileGridPlan {
  readonly gridset: string;
  readonly tileMatrixSet: string;
  /** Ids of those layers here. */
  readonly collections: readonly string[];
  /** Warnings about parts that are not imported. */
  readonly warnings: readonly string[];
}

export interface MigrationPlan {
  /** Version of the GeoServer. */
  readonly version: string | null;
  readonly layers: readonly LayerPlan[];
  readonly groups: readonly GroupPlan[];
  readonly tileGrids: readonly TileGridPlan[];
  /** Layers, stores and styles that cannot be imported. */
  readonly unsupported: readonly LeftPart[];
  /** Parts without an equivalent in Graticule, for manual review. */
  readonly reviews: readonly LeftPart[];
  /** Parts that could not be read. */
  readonly gaps: readonly string[];
}

/** Plans the migration of these layers of a source. */
export function planLayers(
  choice: readonly GeoServerLayer[],
  catalog: GeoServerCatalog,
  assessment: GeoServerAssessment,
  request: MigrationRequest,
): MigrationPlan {
  const names = new Set<string>();
  const layers: LayerPlan[] = [];
  const unsupported: LeftPart[] = unsupportedStores(choice, assessment);
  for (const layer of choice) {
    const verdict = assessment.layers.get(layer.id)!;
    if (verdict.level === 'incompatible' || !layer.resource) {
      unsupported.push(leftPart('layer', layer.id, verdict));
      continue;
    }
    layers.push({
      id: layer.id,
      kind: layer.resource.kind,
      collection: createUniqueName(formatTargetName(layer, request), names),
      warnings: listWarnings(verdict),
      styleId: request.importStyles ? (layer.defaultStyle ?? null) : null,
      otherStyles: request.importStyles ? layer.styles : [],
    });
  }
  const left = request.importStyles ? unsupportedStyles(layers, assessment) : [];
  const gone = new Set(left.map(({ id }) => id));
  const plans = layers.map((one) => ({
    ...one,
    styleId: gone.has(one.styleId ?? '') ? null : one.styleId,
    otherStyles: one.otherStyles.filter((id) => !gone.has(id)),
  }));
  const groups = planLayerGroups(plans, catalog, request);
  const { tileGrids, reviews } = buildTileGrids(plans, groups, { catalog, assessment });
  return {
    version: catalog.version ?? null,
    layers: plans,
    groups,
    tileGrids,
    unsupported: [...unsupported, ...left],
    reviews: [...listReviews(choice, plans, { catalog, assessment }), ...reviews],
    gaps: catalog.gaps.map(({ path, reason }) => `${path}: ${reason}`),
  };
}

/** Without the layers that its services turn out not to have. */
export function withoutLayers(plan: MigrationPlan, left: readonly LeftPart[]): MigrationPlan {
  const ids = new Set(left.map(({ id }) => id));
  const isThere = (collection: string) =>
    !plan.layers.some((one) => one.collection === collection && ids.has(one.id));
  const present = <T extends { readonly collections: readonly string[] }>(part: T): T => ({
    ...part,
    collections: part.collections.filter(isThere),
  });
  return {
    ...plan,
    layers: plan.layers.filter(({ id }) => !ids.has(id)),
    groups: plan.groups.map(present),
    tileGrids: plan.tileGrids.map(present).filter(({ collections }) => collections.length > 0),
    unsupported: [...plan.unsupported, ...left],
  };
}

/** Throws `unprocessable` if an unsupported part must fail the migration. */
export function requireSupported({ unsupported }: MigrationPlan, request: MigrationRequest): void {
  const part = unsupported.find(({ kind }) => getUnsupportedPolicy(kind, request) === 'fail');
  if (part) throw unprocessable(`The ${part.kind} ${part.id} cannot be imported: ${part.reason}`);
}

export function getUnsupportedPolicy(
  kind: LeftPart['kind'],
  { unsupported }: MigrationRequest,
): UnsupportedPolicy {
  return kind === 'layerGroup' || kind === 'gridset' ? 'skip' : unsupported[kind];
}

function listWarnings({ level, reason, warnings, manualSteps }: Compatibility): string[] {
  return level === 'partial' ? [reason, ...warnings, ...manualSteps] : [...warnings];
}

function leftPart(kind: LeftPart['kind'], id: string, verdict: Compatibility): LeftPart {
  const { code, reason, manualSteps } = verdict;
  return { kind, id, code: code ?? 'unsupported', reason, manualSteps: [...manualSteps] };
}

function unsupportedStores(choice: readonly GeoServerLayer[], { stores }: GeoServerAssessment): LeftPart[] {
  const ids = new Set(
    choice.flatMap(({ resource }) =>
      resource
        ? [
            formatStoreId({
              kind: resource.kind === 'featureType' ? 'data' : 'coverage',
              workspace: resource.workspace,
              name: resource.store,
            }),
          ]
        : [],
    ),
  );
  return [...ids].flatMap((id) => {
    const verdict = stores.get(id);
    return verdict?.level === 'incompatible' ? [leftPart('store', id, verdict)] : [];
  });
}

function unsupportedStyles(layers: readonly LayerPlan[], { styles }: GeoServerAssessment): LeftPart[] {
  const ids = new Set(
    layers.flatMap(({ styleId, otherStyles }) => [...(styleId === null ? [] : [styleId]), ...otherStyles]),
  );
  return [...ids].flatMap((id) => {
    const verdict = styles.get(id);
    if (verdict === undefined)
      return [
        {
          kind: 'style' as const,
          id,
          code: 'style-missing',
          manualSteps: [],
          reason: 'The style could not be read.',
        },
      ];
    const isRead = verdict.level !== 'incompatible' && verdict.code !== 'style-unread';
    return isRead ? [] : [leftPart('style', id, verdict)];
  });
}

/** Lists groups without any imported layer, and alternative styles that are not imported. */
function listReviews(
  choice: readonly GeoServerLayer[],
  layers: readonly LayerPlan[],
  { catalog, assessment }: Source,
): LeftPart[] {
  const ids = new Set(choice.map(({ id }) => id));
  const isThere = new Set(layers.map(({ id }) => id));
  const groups = groupsById(catalog);
  const ofGroups = catalog.groups
    .filter((group) => {
      const { layers: members } = listGroupMembers(group, groups);
      return members.some((id) => ids.has(id)) && !members.some((id) => isThere.has(id));
    })
    .map(({ id }) => leftPart('layerGroup', id, assessment.groups.get(id)!));
  const ofStyles = choice.flatMap(({ id, styles }) => {
    const { otherStyles = [] } = layers.find((one) => one.id === id) ?? {};
    return styles
      .filter((style) => !otherStyles.includes(style))
      .map((style) => ({
        kind: 'style' as const,
        id: style,
        code: 'alternative-style',
        reason: `It is an additional style of ${id}, and is not imported.`,
        manualSteps: [
          'Begin the migration with importStyles, or put it as the style of a second layer of the same data.',
        ],
      }));
  });
  return [...ofGroups, ...ofStyles];
}

interface Source {
  readonly catalog: GeoServerCatalog;
  readonly assessment: GeoServerAssessment;
}

/** Gridsets in which imported layers and groups were cached: as sets of this server, or for manual review. */
function buildTileGrids(
  layers: readonly LayerPlan[],
  groups: readonly GroupPlan[],
  { catalog, assessment }: Source,
): { tileGrids: TileGridPlan[]; reviews: LeftPart[] } {
  const collections = new Map<string, readonly string[]>([
    ...groups.map(({ id, collections }) => [id, collections] as const),
    ...layers.map(({ id, collection }) => [id, [collection]] as const),
  ]);
  const tileGrids: TileGridPlan[] = [];
  const reviews: LeftPart[] = [];
  for (const [id, verdict] of assessment.gridsets) {
    const { tileMatrixSet, configuration, warnings } = verdict;
    const users = catalog.tileLayers.filter(({ isEnabled, gridsets }) => isEnabled && gridsets.includes(id));
    const own = new Set(users.flatMap((one) => collections.get(one.id) ?? []));
    if (own.size === 0) continue;
    if (tileMatrixSet === null)
      reviews.push({
        ...leftPart('gridset', id, verdict),
        ...(configuration === null ? {} : { configuration }),
      });
    else tileGrids.push({ gridset: id, tileMatrixSet, collections: [...own], warnings });
  }
  return { tileGrids, reviews };
}
