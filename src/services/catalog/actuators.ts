import Type from 'typebox';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import { type Actuator, defineActuator, parameterError } from '../actions/actuator.js';
import type { SourceState, SourceStates } from './source-states.js';

interface SourceParameters {
  readonly sourceId: string;
}

/** The source that was read again. Its id changes with its state. */
type ReloadedSource = Pick<SourceState, 'source'> & { readonly layer: string | null };

const MINUTE_MS = 60_000;

/** Reads a source again, as `POST /sources/{id}/retry` does. */
export function createSourceActuator(sources: SourceStates): Actuator {
  const find = (sourceId: string) => {
    const source = sources.find(sourceId);
    if (source) return source;
    throw parameterError('sourceId', `there is no source '${sourceId.slice(0, 100)}'`);
  };
  return defineActuator<SourceParameters>({
    kind: 'AdminConfigChange',
    name: 'source.reload',
    version: 1,
    description: 'Reads a source again',
    permission: 'admin:services:write',
    parameters: Type.Object({ sourceId: Type.String() }, { additionalProperties: false }),
    async plan({ sourceId }) {
      const { source, layer, state, reason, collections } = find(sourceId);
      const names = collections.map(({ id }) => id);
      const what = layer === undefined ? source : `${source}, ${layer}`;
      return {
        summary: `Read the source ${what} again.`,
        riskLevel: 'Low',
        targets: [`Source/${source}`],
        blastRadius: Math.max(1, names.length),
        diff: [`${what}: ${state}${reason === undefined ? '' : ` (${reason})`} -> read again`],
        dryRun: names.map((name) => `The collection ${name} is replaced with the new reading.`),
      };
    },
    async preconditions({ sourceId }) {
      const source = sources.find(sourceId);
      if (!source) return [{ resource: `Source/${sourceId}`, fingerprint: 'absent' }];
      const { state, reason = null } = source;
      const fingerprint = computeFingerprint(JSON.stringify([state, reason]));
      return [{ resource: `Source/${sourceId}`, fingerprint }];
    },
    acts: 'repeatably',
    async act({ sourceId }): Promise<ReloadedSource | undefined> {
      const source = sources.find(sourceId);
      // An earlier run has already published it, and its id has changed.
      if (!source) return undefined;
      await sources.retry(source);
      return { source: source.source, layer: source.layer ?? null };
    },
    async verify({ sourceId }, result) {
      const reloaded = result as ReloadedSource | undefined;
      if (!reloaded) {
        const isRefused = sources.find(sourceId)?.state === 'refused';
        return isRefused
          ? { state: 'pending', message: 'The source is still refused.' }
          : { state: 'verified', message: 'The source is no longer refused.' };
      }
      const { source, layer } = reloaded;
      const states = sources
        .list()
        .filter((one) => one.source === source && (layer === null || one.layer === layer));
      const refused = states.find(({ state }) => state === 'refused');
      if (states.length > 0 && !refused) return { state: 'verified', message: `${source} is published.` };
      const reason = refused?.reason ?? 'it is not listed';
      return { state: 'pending', message: `${source} is not published: ${reason}.` };
    },
    verifyMs: MINUTE_MS,
    remedy: 'Repair or replace the source, then reload it again.',
  });
}
