import { createHash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { PublishCommandInput } from '@aws-sdk/client-sns';
import type { SendMessageCommandInput } from '@aws-sdk/client-sqs';
import { ConfigError } from '../../../core/config/config.js';
import type { AllowedHosts } from '../../../workers/storage/remote/allowed-hosts.js';
import type { Sender } from '../../deliveries/lane.js';
import { DELIVERY_LIMITS } from '../../deliveries/limits.js';
import { ACCEPTED, type Outcome, readStatus, refuseMessage, retry } from '../../deliveries/outcome.js';
import { type AlertContent, readContent } from './content.js';
import { formatType } from './eventgrid.js';
import { readTarget } from './json-post.js';

/** Maximum bytes of a message of SNS and of SQS, with room for its attributes. */
const MAX_BYTES = 260_000;
/** Maximum characters of the subject of a message of SNS. */
const SUBJECT = 100;
/** Messages that can be sent a second time after a crash. Receivers can drop them by their id. */
const BATCH = 10;
/** Errors with a status 4xx that do not depend on the message. */
const TEMPORARY = /throttl|toomanyrequests|requestlimit|expiredtoken|requesttimeout|overlimit/i;

const formatDigest = (text: string) => createHash('sha256').update(text).digest('hex');

/** Keys that order the messages about an incident, and drop repeated ones, if the name of the target ends with `.fifo`. */
const formatOrder = ({ id, incident }: AlertContent, target: string) =>
  target.endsWith('.fifo')
    ? {
        MessageGroupId: formatDigest(incident ?? 'notices').slice(0, 32),
        MessageDeduplicationId: formatDigest(id),
      }
    : {};

function formatAttributes(content: AlertContent) {
  const texts = { eventId: content.id, type: formatType(content), severity: content.severity };
  return Object.fromEntries(
    Object.entries(texts).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
  );
}

/** Message of a topic. The subject, which mails use, is printable ASCII. */
export function formatSns(content: AlertContent, topicArn: string): PublishCommandInput {
  const subject = content.title
    .replace(/[^ -~]/g, '?')
    .slice(0, SUBJECT)
    .trim();
  return {
    TopicArn: topicArn,
    Message: content.json,
    ...(subject === '' ? {} : { Subject: subject }),
    MessageAttributes: formatAttributes(content),
    ...formatOrder(content, topicArn),
  };
}

/** Message of a queue. */
function formatSqs(content: AlertContent, queueUrl: string): SendMessageCommandInput {
  return {
    QueueUrl: queueUrl,
    MessageBody: content.json,
    MessageAttributes: formatAttributes(content),
    ...formatOrder(content, queueUrl),
  };
}

interface AwsSettings {
  readonly region: string;
  readonly endpoint: string;
}

/** Sends messages to a topic of SNS. */
export function createSns(
  { topicArn, region, endpoint }: AwsSettings & { readonly topicArn: string },
  allowed: AllowedHosts,
): Sender {
  const [, partition, , ofArn] = /^arn:([\w-]+):(sns):([\w-]+):\d{12}:[\w.-]+$/.exec(topicArn) ?? [];
  if (ofArn === undefined)
    throw new ConfigError(['alerts.channels.aws_sns.topicArn: must be the ARN of an SNS topic.']);
  const domain = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url = endpoint || `https://sns.${region || ofArn}.${domain}`;
  const options = clientOptions('alerts.channels.aws_sns.endpoint', url, region || ofArn, allowed);
  return createSender(async () => {
    const { PublishCommand, SNSClient } = await import('@aws-sdk/client-sns');
    const client = new SNSClient(options);
    return (content, abortSignal) =>
      client.send(new PublishCommand(formatSns(content, topicArn)), { abortSignal });
  });
}

/** Sends messages to a queue of SQS. */
export function createSqs(
  { queueUrl, region, endpoint }: AwsSettings & { readonly queueUrl: string },
  allowed: AllowedHosts,
): Sender {
  const queue = readTarget('alerts.channels.aws_sqs.queueUrl', queueUrl, allowed);
  const ofHost = /^sqs\.([\w-]+)\./.exec(queue.hostname)?.[1];
  const options = clientOptions(
    'alerts.channels.aws_sqs.endpoint',
    endpoint || queue.origin,
    region || ofHost || 'us-east-1',
    allowed,
  );
  return createSender(async () => {
    const { SendMessageCommand, SQSClient } = await import('@aws-sdk/client-sqs');
    const client = new SQSClient({ ...options, useQueueUrlAsEndpoint: false });
    return (content, abortSignal) =>
      client.send(new SendMessageCommand(formatSqs(content, queueUrl)), { abortSignal });
  });
}

/** The lane retries, so the SDK does not. Connections lead only to allowed addresses. */
function clientOptions(setting: string, endpoint: string, region: string, allowed: AllowedHosts) {
  const lookup = allowed.lookupOf(readTarget(setting, endpoint, allowed));
  const ms = DELIVERY_LIMITS.attemptMs;
  const agent = { keepAlive: true, lookup };
  return {
    region,
    endpoint,
    maxAttempts: 1,
    requestHandler: {
      ...{ requestTimeout: ms, connectionTimeout: ms, throwOnRequestTimeout: true },
      ...{ httpAgent: new HttpAgent(agent), httpsAgent: new HttpsAgent(agent) },
    },
  };
}

type Send = (content: AlertContent, signal: AbortSignal) => Promise<unknown>;

/** The first message loads the SDK. */
function createSender(load: () => Promise<Send>): Sender {
  let loaded: Promise<Send> | undefined;
  return {
    batch: BATCH,
    async send(eventId, body, signal) {
      loaded ??= load();
      const send = await loaded;
      const content = readContent(eventId, body);
      const bytes = Buffer.byteLength(content.json);
      if (bytes > MAX_BYTES)
        return refuseMessage(`the message has ${bytes} bytes; the maximum is ${MAX_BYTES}`);
      const late = AbortSignal.timeout(DELIVERY_LIMITS.attemptMs);
      try {
        await send(content, AbortSignal.any([signal, late]));
        return ACCEPTED;
      } catch (error) {
        return late.aborted ? retry('no answer in time') : readAwsError(error);
      }
    },
  };
}

/** Outcome of an error of the SDK. Without a response of the service, the message is retried. */
function readAwsError(error: unknown): Outcome {
  const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
  const text = `${name}: ${message}`;
  const status = $metadata?.httpStatusCode;
  if (status === undefined || TEMPORARY.test(name)) return retry(text);
  const outcome = readStatus(status);
  return outcome.kind === 'accepted' ? retry(text) : { ...outcome, error: `answered ${status}, ${text}` };
}
