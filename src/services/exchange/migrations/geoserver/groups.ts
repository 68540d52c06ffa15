import type { GeoServerCatalog, GeoServerGroup } from '../../../../core/exchange/geoserver.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { createUniqueName, formatTargetName } from './names.js';
import type { MigrationRequest } from './request.js';

/** A group of layers, which becomes a service. */
export interface GroupPlan {
  /** The source's id for it: `topp:world`. */
  readonly id: string;
  /** Name of the service. */
  readonly service: string;
  readonly title: string | null;
  readonly abstract: string | null;
  /** Ids of the layers here, from the lowest to the highest. */
  readonly collections: readonly string[];
  /** Warnings about parts that are not imported. */
  readonly warnings: readonly string[];
}

/** An imported layer with its facts for groups. */
interface Member {
  readonly id: string;
  readonly collection: string;
  readonly styleId: string | null;
}

export const groupsById = ({ groups }: GeoServerCatalog): ReadonlyMap<string, GeoServerGroup> =>
  new Map(groups.map((one) => [one.id, one]));

/** Members of a group, and whether the list is complete. */
interface Members {
  /** Ids, from the lowest to the highest. */
  readonly layers: readonly string[];
  readonly isWhole: boolean;
}

/**
 * Layers of a group, including the layers of nested groups. Each layer is listed once, and each group at its first
 * occurrence.
 */
export function listGroupMembers(
  group: GeoServerGroup,
  groups: ReadonlyMap<string, GeoServerGroup>,
): Members {
  const layers = new Set<string>();
  const inner = new Set([group.id]);
  const rest = group.members.toReversed();
  for (let left = EXCHANGE_LIMITS.geoServerGroupMembers; left > 0 && rest.length > 0; left--) {
    const { kind, id } = rest.pop()!;
    if (kind === 'layer') layers.add(id);
    else if (!inner.has(id)) {
      inner.add(id);
      for (const one of groups.get(id)?.members.toReversed() ?? []) rest.push(one);
    }
  }
  return { layers: [...layers], isWhole: rest.length === 0 };
}

/** Services that groups of these layers become. */
export function planLayerGroups(
  layers: readonly Member[],
  catalog: GeoServerCatalog,
  request: MigrationRequest,
): GroupPlan[] {
  const names = new Set<string>();
  const byId = new Map(layers.map((one) => [one.id, one]));
  const groups = groupsById(catalog);
  return catalog.groups.flatMap((group) => {
    const members = listGroupMembers(group, groups);
    const plans = members.layers.flatMap((id) => byId.get(id) ?? []);
    if (plans.length === 0) return [];
    return [
      {
        id: group.id,
        service: createUniqueName(formatTargetName(group, request), names),
        title: group.title ?? null,
        abstract: group.abstract ?? null,
        collections: plans.map(({ collection }) => collection),
        warnings: listWarnings(group, members, plans),
      },
    ];
  });
}

function listWarnings(
  { members, mode }: GeoServerGroup,
  { layers, isWhole }: Members,
  plans: readonly Member[],
) {
  const absent = layers.filter((id) => !plans.some((one) => one.id === id));
  const styles = members.flatMap(({ id, style }) => {
    const layer = plans.find((one) => one.id === id);
    return style !== undefined && layer && layer.styleId !== style ? [`${id} in the style ${style}`] : [];
  });
  return [
    ...(isWhole
      ? []
      : [`It has more members than ${EXCHANGE_LIMITS.geoServerGroupMembers}, which come along.`]),
    ...(absent.length === 0 ? [] : [`These of its layers do not come along: ${absent.join(', ')}.`]),
    ...(styles.length === 0
      ? []
      : [`It draws ${styles.join(', ')}: maps of several layers draw each in its own style.`]),
    ...(mode === 'EO' ? ['Its footprints are not told apart.'] : []),
  ];
}
