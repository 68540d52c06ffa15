import { createHash } from 'node:crypto';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { FederatedSetting } from '../../../core/federation/federated-source.js';
import { vectorCollection } from './collections.js';
import { type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

const PASSING: ReadonlySet<string> = new Set(['store-unavailable', 'deadline-exceeded']);

/** The collection of a federated source, or the reason why it cannot be published. `path` names the source. */
export async function readFederated(
  setting: FederatedSetting,
  path: string,
  { pools }: Pick<PublishDeps, 'pools'>,
): Promise<Found> {
  try {
    const options = { deadlineMs: INSPECT_DEADLINE_MS };
    const layer = await pools.run('vector.federated', { path: setting.url, setting }, options);
    const origin = createHash('sha1').update(JSON.stringify(layer.source)).digest('hex').slice(0, 12);
    const readAt = Date.now();
    const versions = { version: `${origin}.${readAt.toString(36)}`, origin, readAt };
    const make = vectorCollection(layer, path, versions);
    return { collections: [{ name: setting.id, group: setting.kind, make }], quarantined: [] };
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The source could not be read.';
    const passing = error instanceof TaskFailure && PASSING.has(error.code);
    return {
      collections: [],
      quarantined: [{ path, reason, ...(passing && { passing, isUnread: true }) }],
    };
  }
}
