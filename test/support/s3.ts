import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pythonOfClients } from './python.js';
import { freePort } from './server.js';

/** An S3 of a test's own, with one bucket. */
export interface TestS3 {
  bucket: string;
  /** What a server needs to reach it. */
  env: Record<string, string>;
  /** Keys of all objects. */
  keys(): Promise<string[]>;
  stop(): Promise<void>;
}

const BUCKET = 'graticule-files';
const START_MS = 60_000;

/** Starts a server that speaks S3 and keeps everything in memory. */
export async function startS3(): Promise<TestS3> {
  const port = await freePort();
  const child = spawn(pythonOfClients(), ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilThere(origin, child);
  const made = await fetch(`${origin}/${BUCKET}`, { method: 'PUT' });
  if (!made.ok) throw new Error(`the bucket was not made: ${made.status}`);
  return {
    bucket: BUCKET,
    env: {
      AWS_ENDPOINT_URL: origin,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_REGION: 'us-east-1',
    },
    async keys() {
      const listing = await (await fetch(`${origin}/${BUCKET}?list-type=2`)).text();
      return [...listing.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key!);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function untilThere(origin: string, child: ChildProcess): Promise<void> {
  for (const end = Date.now() + START_MS; Date.now() < end; ) {
    if (child.exitCode !== null) throw new Error('the S3 server ended');
    const isThere = await fetch(`${origin}/moto-api/data.json`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGKILL');
  throw new Error('the S3 server was not there in time');
}
