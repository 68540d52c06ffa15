import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { RUN_VARIABLE, SHARED_SERVER } from './run.js';
import type { TestServer } from './server.js';

export type SharedServer = Pick<TestServer, 'url' | 'adminKey'>;

/**
 * The server of the demo data that all test files of a run share: for tests that change nothing, kill nothing and look at
 * no log. It starts when the first file asks for it and stops when the run ends.
 */
export async function sharedServer(): Promise<SharedServer> {
  const answer = await text(connect(join(process.env[RUN_VARIABLE]!, SHARED_SERVER)));
  const { failure, ...server } = JSON.parse(answer) as SharedServer & { failure?: string };
  if (failure) throw new Error(failure);
  return server;
}

/** Numbers of layers by the ids of their collections. */
export async function layerNumbers({ url }: Pick<SharedServer, 'url'>): Promise<Record<string, number>> {
  const { collections } = (await (await fetch(`${url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  return Object.fromEntries(collections.map(({ id, layerId }) => [id, layerId]));
}
