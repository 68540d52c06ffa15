import type { Instance } from '../../stores/database/instances.js';

/** The only target: all servers that share the state. An operator replaces them; the server observes them. */
export const SERVERS_TARGET = 'servers';

/** Releases of the processes that share the state, from their heartbeats. */
export interface ObservedReleases {
  /** Number of processes by release, in the order of the releases. */
  readonly releases: readonly { readonly release: string; readonly processes: number }[];
  /** The release of all processes. Undefined: several releases, or no heartbeat. */
  readonly common: string | undefined;
  /** Number of servers. */
  readonly servers: number;
}

export function observeReleases(
  alive: readonly Pick<Instance, 'release' | 'host' | 'server'>[],
): ObservedReleases {
  const counts = new Map<string, number>();
  for (const { release } of alive) counts.set(release, (counts.get(release) ?? 0) + 1);
  const releases = [...counts]
    .map(([release, processes]) => ({ release, processes }))
    .sort((a, b) => (a.release < b.release ? -1 : 1));
  return {
    releases,
    common: releases.length === 1 ? releases[0]!.release : undefined,
    servers: new Set(alive.map(({ host, server }) => `${host} ${server}`)).size,
  };
}

/** `2 processes run 2026.3.0, 1 process runs 2026.3.1`. */
export function describeReleases({ releases }: ObservedReleases): string {
  if (releases.length === 0) return 'unknown: no process has sent a heartbeat';
  return releases
    .map(({ release, processes }) =>
      processes === 1 ? `1 process runs ${release}` : `${processes} processes run ${release}`,
    )
    .join(', ');
}
