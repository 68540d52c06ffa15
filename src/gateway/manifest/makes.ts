import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { ManifestStep, Resource } from './apply.js';

/** Objects that must be created before the objects that name them can be checked. */

/** Services that layers are put into, by ids of their collections. */
export function mapLayersToServices(asked: readonly Resource[]): ReadonlyMap<string, string> {
  return new Map(
    asked.flatMap(({ kind, metadata, spec }) => {
      const { service } = spec as { service?: string };
      return kind === 'Layer' && service !== undefined ? [[metadata.name, service] as const] : [];
    }),
  );
}

/** Ids of collections whose layers are switched off. */
export function listDisabledCollections(asked: readonly Resource[]): ReadonlySet<string> {
  return new Set(
    asked.flatMap(({ kind, metadata, spec }) =>
      kind === 'Layer' && (spec as { enabled?: boolean }).enabled === false ? [metadata.name] : [],
    ),
  );
}

/** Names of collections that must be created before others can be checked, and of their future services. */
export function namesToMake(
  steps: readonly ManifestStep[],
  services: ReadonlyMap<string, string>,
  catalog: CatalogSnapshot,
): string[] {
  return steps
    .filter(({ action, kind, name }) => action === 'created' && kind.make && !catalog.byId(name))
    .flatMap(({ name }) => [name, services.get(name) ?? name]);
}

/** Whether an object that needs nothing created refers to this name. */
export function isAbout({ kind, name, after }: ManifestStep, one: string): boolean {
  const { layer, service } = after as { layer?: string; service?: string };
  return !kind.make && [name, layer, service].includes(one);
}
