import { getConnectionProvider, type StoredConnection } from '../../../services/connections/connection.js';
import { type Credential, isDatabaseConnection } from '../../../services/connections/connections.js';
import { createObjectStore, isBucketProvider } from '../../../services/connections/object-store.js';
import type { Services } from '../../admin/deps.js';

/** Before a connection leads elsewhere: its layers become copies of the layers that show already what is there. */
export async function nameSources(
  before: StoredConnection,
  after: StoredConnection,
  { by, credential = {} }: { by: string; credential?: Credential },
  { layerCopies, publishedLayers, rasters }: Services<'layerCopies' | 'publishedLayers' | 'rasters'>,
): Promise<void> {
  if (isDatabaseConnection(before)) return publishedLayers.nameSources(before, after, credential, by);
  await layerCopies.nameSources(before, after, by);
  if (!isBucketProvider(getConnectionProvider(before.body))) return;
  const stores = [createObjectStore(before.body, ''), createObjectStore(after.body, '')] as const;
  await rasters.cloud.nameSources(before.id, stores, by);
}
