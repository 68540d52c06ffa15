import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './ports.js';
import { pythonOfClients } from './python.js';

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

/** What a user of such a store reads by. */
export interface S3User {
  accessKeyId: string;
  secretAccessKey: string;
}

const USER = `
import boto3, json, sys
origin, name, policy = sys.argv[1:4]
iam = boto3.client('iam', endpoint_url=origin, region_name='us-east-1', aws_access_key_id='test', aws_secret_access_key='test')
iam.create_user(UserName=name)
if policy: iam.put_user_policy(UserName=name, PolicyName='reads', PolicyDocument=policy)
key = iam.create_access_key(UserName=name)['AccessKey']
print(json.dumps({'accessKeyId': key['AccessKeyId'], 'secretAccessKey': key['SecretAccessKey']}))
`;

/** Makes a user who may do this with everything; an empty list is of one who may do nothing. */
export function s3User(origin: string, name: string, actions: readonly string[]): S3User {
  const policy = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }],
  };
  const script = [origin, name, actions.length === 0 ? '' : JSON.stringify(policy)];
  return JSON.parse(execFileSync(pythonOfClients(), ['-c', USER, ...script], { encoding: 'utf8' }));
}

/** From now on the store checks signatures and rights. */
export async function guardS3(origin: string): Promise<void> {
  const answer = await fetch(`${origin}/moto-api/reset-auth`, { method: 'POST', body: '0' });
  if (!answer.ok) throw new Error(`the store takes anybody: ${answer.status}`);
}

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
