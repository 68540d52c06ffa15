import { describe, expect, it } from 'vitest';
import { TaskFailure } from '../../src/core/errors/failure.js';
import type { Candidate } from '../../src/core/geocoding/geocoding.js';
import type { Geocoder } from '../../src/services/geocoding/geocoder.js';
import { type ProviderCall, ProviderChain, untried } from '../../src/services/geocoding/providers.js';
import type { TaskContext } from '../../src/services/kit/run-task.js';

/** What a chain of providers does with the one that is passed over. */

const x: TaskContext = { timing: () => {} };
const QUERY = { text: 'Paris', limit: 1 };

function provider(name: string, find: (x: TaskContext) => Promise<Candidate[][]>): ProviderCall {
  const geocoder: Geocoder = {
    name,
    facts: async () => ({ languages: ['fr'] }),
    find,
    suggest: async () => [],
    reverse: async () => undefined,
    place: async () => undefined,
  };
  const abilities = {
    ...{ supportsForwardGeocode: true, supportsReverseGeocode: true, supportsBatch: true },
    ...{ supportsSuggest: true, supportsStructuredInput: true, requiresAuthentication: false },
    ...{ maxResultsPerRequest: 50, maxBatchSize: 1 },
  };
  return { provider: { name, abilities, health: untried() }, geocoder };
}

const ready = () => provider('ready', async () => [[]]);

describe('a chain of providers', () => {
  it('ends the work of one that is late, and asks the next', async () => {
    let signal: AbortSignal | undefined;
    const late = provider('late', (bounded) => {
      signal = bounded.signal;
      return new Promise(() => {});
    });
    expect(await new ProviderChain([late, ready()], 20).find(x, [QUERY])).toEqual([[]]);
    expect(signal?.aborted).toBe(true);
    expect(late.provider.health.isHealthy).toBe(false);
  });

  it('blames nobody for a queue of its own that is full', async () => {
    const busy = provider('busy', async () => {
      throw new TaskFailure('queue-full', 'The server is busy.');
    });
    expect(await new ProviderChain([busy, ready()], 1000).find(x, [QUERY])).toEqual([[]]);
    expect(busy.provider.health).toEqual(untried());
  });

  it('tells of nobody that documents were asked for', async () => {
    const one = ready();
    expect(await new ProviderChain([one], 1000).facts(x)).toEqual({ languages: ['fr'] });
    expect(one.provider.health).toEqual(untried());
  });

  it('tells the facts of the next where one fails', async () => {
    const lost = ready();
    lost.geocoder.facts = async () => {
      throw new TaskFailure('source-missing', 'There is no index.');
    };
    expect(await new ProviderChain([lost, ready()], 1000).facts(x)).toEqual({ languages: ['fr'] });
    expect(lost.provider.health).toEqual(untried());
  });
});
