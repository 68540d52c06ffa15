import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/core/config/config.js';
import { createChannels } from '../../../src/services/alerts/channels/index.js';
import { freePort } from '../../support/ports.js';
import { pythonOfClients } from '../../support/python.js';
import { until } from '../../webhooks/receiver.js';
import { hostileMessage, MESSAGE } from '../recorders.js';

/** Messages of alerts in queues and topics of moto, which checks requests as AWS does. */

const REGION = 'eu-central-1';
const KEYS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const former = Object.fromEntries(Object.keys(KEYS).map((name) => [name, process.env[name]]));
const FIFO = { FifoQueue: 'true' };

let moto: ChildProcess;
let origin: string;
let sqs: SQSClient;
let sns: SNSClient;

beforeAll(async () => {
  Object.assign(process.env, KEYS);
  const port = await freePort();
  moto = spawn(pythonOfClients(), ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
  });
  origin = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${origin}/moto-api/data.json`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const options = { endpoint: origin, region: REGION };
  sqs = new SQSClient(options);
  sns = new SNSClient(options);
}, 70_000);
afterAll(async () => {
  sqs?.destroy();
  sns?.destroy();
  const ended = once(moto, 'exit');
  moto.kill('SIGKILL');
  await ended;
  for (const [name, value] of Object.entries(former))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

async function makeQueue(name: string): Promise<{ url: string; arn: string }> {
  const attributes = name.endsWith('.fifo') ? { Attributes: FIFO } : {};
  const { QueueUrl: url } = await sqs.send(new CreateQueueCommand({ QueueName: name, ...attributes }));
  const query = { QueueUrl: url, AttributeNames: ['QueueArn' as const] };
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand(query));
  return { url: url!, arn: Attributes!['QueueArn']! };
}

function senderOf(channel: 'aws_sqs' | 'aws_sns', settings: Record<string, string>) {
  const flags = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`alerts.channels.${channel}.${name}`, value]),
  );
  const { config } = loadConfig({ flags: { ...flags, 'remote.allow': ['127.0.0.1'] }, env: {} });
  const { sender } = createChannels(config, () => {}).get(channel)!;
  return (id: string, message: object) =>
    sender.send(id, JSON.stringify(message), new AbortController().signal);
}

async function receive(url: string): Promise<Message[]> {
  const query = {
    QueueUrl: url,
    MaxNumberOfMessages: 10,
    MessageAttributeNames: ['All'],
    AttributeNames: ['All' as const],
  };
  return (await sqs.send(new ReceiveMessageCommand(query))).Messages ?? [];
}

it('queues get messages with attributes, also with hostile names', async () => {
  const queue = await makeQueue('alerts');
  const send = senderOf('aws_sqs', { queueUrl: queue.url, region: REGION });
  expect(await send('alert-1:started', MESSAGE)).toEqual({ kind: 'accepted' });
  expect(await send('alert-2:started', hostileMessage())).toEqual({ kind: 'accepted' });
  const messages = await receive(queue.url);
  expect(messages.map(({ MessageAttributes }) => MessageAttributes!['eventId']!.StringValue).sort()).toEqual([
    'alert-1:started',
    'alert-2:started',
  ]);
  const bodies = messages.map(({ Body }) => JSON.parse(Body!) as { ruleName: string });
  expect(bodies.map(({ ruleName }) => ruleName).sort()).toEqual(
    [MESSAGE.ruleName, JSON.parse(JSON.stringify(hostileMessage())).ruleName].sort(),
  );
});

it('queues with an order drop repeated messages', async () => {
  const queue = await makeQueue('alerts.fifo');
  const send = senderOf('aws_sqs', { queueUrl: queue.url, region: REGION });
  for (const id of ['alert-1:started', 'alert-1:started', 'alert-1:ended'])
    expect(await send(id, MESSAGE)).toEqual({ kind: 'accepted' });
  const messages = await receive(queue.url);
  expect(messages.map(({ MessageAttributes }) => MessageAttributes!['eventId']!.StringValue)).toEqual([
    'alert-1:started',
    'alert-1:ended',
  ]);
  expect(new Set(messages.map(({ Attributes }) => Attributes!['MessageGroupId'])).size).toBe(1);
});

it('topics send messages on to their queues', async () => {
  const queue = await makeQueue('from-topic');
  const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'alerts' }));
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: queue.arn }));
  const send = senderOf('aws_sns', { topicArn: TopicArn!, endpoint: origin });
  expect(await send('alert-7:started', hostileMessage())).toEqual({ kind: 'accepted' });
  const [message] = await receive(queue.url);
  const body = JSON.parse(message!.Body!) as { Message: string; Subject: string; MessageAttributes: object };
  expect(JSON.parse(body.Message)).toMatchObject({ type: 'alert', incidentKey: MESSAGE.incidentKey });
  expect(body.Subject).toMatch(/^[ -~]{1,100}$/);
  expect(body.MessageAttributes).toMatchObject({ eventId: { Type: 'String', Value: 'alert-7:started' } });
});

it('refused messages are not retried, and absent targets are named', async () => {
  const queue = await makeQueue('gone');
  const send = senderOf('aws_sqs', { queueUrl: `${queue.url}-not`, region: REGION });
  expect(await send('alert-1:started', MESSAGE)).toMatchObject({
    kind: 'refused',
    error: expect.stringMatching(/NonExistentQueue|QueueDoesNotExist/),
  });
  const topic = senderOf('aws_sns', {
    topicArn: `arn:aws:sns:${REGION}:123456789012:gone`,
    endpoint: origin,
  });
  expect(await topic('alert-1:started', MESSAGE)).toMatchObject({ kind: 'refused' });
});
