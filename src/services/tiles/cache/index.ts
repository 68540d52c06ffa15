import { hostname } from 'node:os';
import type { CatalogChange } from '../../../core/catalog/catalog-change.js';
import type { CacheNote, CacheScope, EditNote, RestedNote } from '../../../core/cluster/notes.js';
import type { Config } from '../../../core/config/config.js';
import type { AnnouncementStore } from '../../../stores/database/announcements.js';
import type { Catalog } from '../../catalog/catalog.js';
import type { Cluster } from '../../cluster/cluster.js';
import type { Log } from '../../telemetry/log.js';
import type { CacheControl } from './cache-control.js';
import { cacheControl, evictTiles } from './control.js';
import { openLevels } from './open-levels.js';
import { dropReplaced } from './replacement.js';
import { TileCache } from './tile-cache.js';

export interface CachingOptions {
  config: Config['cache'];
  /** Absolute path, which identifies this server among those of one Redis. */
  dataDir: string;
  log: Log;
  catalog: Catalog;
  cluster: Pick<Cluster, 'announcements' | 'settle'>;
  announcements: Pick<AnnouncementStore, 'add'>;
  /** Sends a note to the other gateways of this server. */
  tell(note: CacheNote): void;
}

/** The cache of a gateway, which follows changes by other processes. */
export interface GatewayCache {
  readonly tiles: TileCache;
  readonly control: CacheControl;
  /** Applies an edit of this gateway, or an edit that events report, and announces it to all other processes. */
  edited(note: EditNote): void;
  /** Records that the log of an edited file was moved into the file, and announces it to all other processes. */
  rested(note: RestedNote): void;
  /** Applies a note of another gateway. */
  hear(note: CacheNote): void;
  /** Follows a reload of the catalog. */
  replaced(change: CatalogChange): void;
  close(): Promise<void>;
}

/** Opens the cache with its levels. Never rejects for a level that cannot be used. */
export async function startCaching({
  config,
  dataDir,
  log,
  catalog,
  cluster,
  announcements,
  tell,
}: CachingOptions): Promise<GatewayCache> {
  const levels = await openLevels(config, log);
  const tiles = new TileCache(config.tileBytes, levels);
  const parts = {
    tiles,
    levels,
    catalog: () => catalog.current,
  };
  /** Returns false for an edit that is already known from the events of its database or from a note. */
  const take = ({ collection, change }: EditNote): boolean => {
    if (!catalog.touch(collection, change)) return false;
    levels.edited(collection, change);
    const layerId = parts.catalog().byId(collection)?.layerId;
    if (layerId !== undefined) tiles.dropCollection(layerId, change.areas);
    return true;
  };
  const hear = (note: CacheNote) => {
    if ('change' in note) take(note);
    else if ('rested' in note) catalog.rest(note.rested, note.writes);
    else void evictTiles(note.dropped, parts).catch(() => {});
  };
  cluster.announcements.on('cache', async (scopes) => {
    const all: CacheScope[] = [{ kind: 'all' }];
    for (const scope of scopes === 'all' ? all : (scopes as CacheScope[])) await evictTiles(scope, parts);
  });
  const findOrigin = (note: CacheNote) =>
    'change' in note ? parts.catalog().byId(note.collection)?.origin : undefined;
  const servers = config.redis.url
    ? new (await import('./redis-notes.js')).RedisNotes(
        config.redis.url,
        `${hostname()}:${dataDir}`,
        ({ note, origin }) => {
          if (findOrigin(note) === origin) hear(note);
        },
      )
    : undefined;
  const tellAll = (note: CacheNote) => {
    tell(note);
    servers?.tell(note, findOrigin(note));
  };
  return {
    tiles,
    hear,
    control: cacheControl(parts, async (scope) => {
      servers?.tell({ dropped: scope });
      await announcements.add('cache', scope);
      await cluster.settle();
    }),
    edited(note) {
      if (take(note)) tellAll(note);
    },
    rested(note) {
      hear(note);
      tell(note);
    },
    replaced({ after, changed }) {
      levels.replaced(changed);
      dropReplaced(tiles, changed, after);
    },
    async close() {
      servers?.close();
      await levels.close();
    },
  };
}
