import type { GeoServerCatalog, GeoServerGroup } from '../../../core/geoserver.js';
import { nameOf } from './names.js';
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
  /** What of it does not come along. */
  readonly warnings: readonly string[];
}

/** A layer that comes along, as groups see it. */
interface Member {
  readonly id: string;
  readonly collection: string;
  readonly styleId: string | null;
}

/** Groups within groups, one in the other; one that holds itself ends there. */
const DEPTH = 8;

/** Ids of the layers of a group, from the lowest to the highest, those of the groups in it too. */
export function membersOf(group: GeoServerGroup, catalog: GeoServerCatalog, depth = 0): string[] {
  return group.members.flatMap(({ kind, id }) => {
    if (kind === 'layer') return [id];
    const inner = catalog.groups.find((one) => one.id === id);
    return inner && depth < DEPTH ? membersOf(inner, catalog, depth + 1) : [];
  });
}

/** Services that groups of these layers become. */
export function groupsOf(
  layers: readonly Member[],
  catalog: GeoServerCatalog,
  request: MigrationRequest,
): GroupPlan[] {
  return catalog.groups.flatMap((group) => {
    const members = membersOf(group, catalog);
    const plans = members.flatMap((id) => layers.find((one) => one.id === id) ?? []);
    if (plans.length === 0) return [];
    return [
      {
        ...{ id: group.id, service: nameOf(group, request) },
        ...{ title: group.title ?? null, abstract: group.abstract ?? null },
        collections: [...new Set(plans.map(({ collection }) => collection))],
        warnings: warningsOf(group, members, plans),
      },
    ];
  });
}

function warningsOf({ members, mode }: GeoServerGroup, ids: readonly string[], plans: readonly Member[]) {
  const absent = ids.filter((id) => !plans.some((one) => one.id === id));
  const styles = members.flatMap(({ id, style }) => {
    const layer = plans.find((one) => one.id === id);
    return style !== undefined && layer && layer.styleId !== style ? [`${id} in the style ${style}`] : [];
  });
  return [
    ...(absent.length === 0 ? [] : [`These of its layers do not come along: ${absent.join(', ')}.`]),
    ...(styles.length === 0
      ? []
      : [`It draws ${styles.join(', ')}: maps of several layers draw each in its own style.`]),
    ...(mode === 'EO' ? ['Its footprints are not told apart.'] : []),
  ];
}
