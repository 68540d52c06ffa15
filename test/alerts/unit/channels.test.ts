import { createHmac, hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/alerts/alerts.js';
import type { AlertFrame } from '../../../src/core/cluster/notes.js';
import { ConfigError, loadConfig } from '../../../src/core/config/config.js';
import { exactNumber } from '../../../src/core/values/exact-number.js';
import { stringifyExactly } from '../../../src/core/values/json.js';
import { formatSns } from '../../../src/services/alerts/channels/aws.js';
import { formatNotice, joinBodies, readContent } from '../../../src/services/alerts/channels/content.js';
import { formatMail } from '../../../src/services/alerts/channels/email.js';
import { createChannels, listConfigured } from '../../../src/services/alerts/channels/index.js';
import { cleanText, clipText } from '../../../src/services/alerts/channels/plain-text.js';
import { formatSlack } from '../../../src/services/alerts/channels/slack.js';
import { formatTeams, TEAMS_BYTES } from '../../../src/services/alerts/channels/teams.js';
import { AlertDispatch, type AlertDispatchOptions } from '../../../src/services/alerts/dispatch.js';
import type { Outcome } from '../../../src/services/deliveries/outcome.js';
import { isSigned, SECRET, startReceiver, type TestReceiver } from '../../webhooks/receiver.js';
import {
  AWS_KEY,
  HOSTILE,
  hostileMessage,
  isSignedV4,
  MESSAGE,
  startMailServer,
  type TestMailServer,
} from '../recorders.js';

let receiver: TestReceiver;
let mail: TestMailServer;
const frames: AlertFrame[] = [];
const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: AWS_KEY.accessKeyId,
  AWS_SECRET_ACCESS_KEY: AWS_KEY.secretAccessKey,
};
const before = Object.fromEntries(Object.keys(CREDENTIALS).map((name) => [name, process.env[name]]));

beforeAll(async () => {
  receiver = await startReceiver();
  mail = await startMailServer();
  Object.assign(process.env, CREDENTIALS);
});
afterAll(async () => {
  for (const [name, value] of Object.entries(before))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  await receiver.close();
  await mail.close();
});
afterEach(() => {
  receiver.received.length = 0;
  receiver.answer = undefined;
  mail.mails.length = 0;
  mail.reply = undefined;
  frames.length = 0;
});

const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:alerts.fifo';
const addresses = {
  server: () => mail.url,
  from: 'Graticule <alerts@example.org>',
  to: ['duty@example.org'],
};
/** Settings of each channel, with a recorder as its target. */
const settings = (): Record<string, unknown> => ({
  'alerts.channels.webhook.url': `${receiver.url}/alerts`,
  'alerts.channels.webhook.secret': SECRET,
  'alerts.channels.email.server': addresses.server(),
  'alerts.channels.email.from': addresses.from,
  'alerts.channels.email.to': addresses.to,
  'alerts.channels.digest.to': ['boss@example.org'],
  'alerts.channels.slack.url': `${receiver.url}/slack`,
  'alerts.channels.microsoft_teams.url': `${receiver.url}/teams`,
  'alerts.channels.aws_sns.topicArn': TOPIC,
  'alerts.channels.aws_sns.endpoint': receiver.url,
  'alerts.channels.aws_sqs.queueUrl': `${receiver.url}/123456789012/alerts.fifo`,
  'alerts.channels.aws_sqs.region': 'eu-central-1',
  'alerts.channels.azure_eventgrid.url': `${receiver.url}/api/events`,
  'alerts.channels.azure_eventgrid.key': 'grid key',
  'alerts.channels.azure_eventhub.url': `${receiver.url}/hub`,
  'alerts.channels.azure_eventhub.keyName': 'send',
  'alerts.channels.azure_eventhub.key': 'hub key',
  'remote.allow': ['127.0.0.1'],
});
const load = (flags: Record<string, unknown>) => loadConfig({ flags, env: {} }).config;
const channels = (flags = settings()) => createChannels(load(flags), (frame) => void frames.push(frame));

function send(
  channel: Channel,
  body: string = stringifyExactly(MESSAGE),
  id = 'incident:started',
): Promise<Outcome> {
  return channels().get(channel)!.sender.send(id, body, new AbortController().signal);
}

describe('channels', () => {
  it('are configured by their targets', () => {
    expect(listConfigured(load({}).alerts.channels)).toEqual(['websocket']);
    expect([...channels().keys()]).toHaveLength(10);
  });

  it.each([
    ['a private address', { 'alerts.channels.slack.url': 'https://10.0.0.1/x' }],
    ['plain HTTP', { 'alerts.channels.microsoft_teams.url': 'http://example.org/x' }],
    ['a short secret', { 'alerts.channels.webhook.secret': 'short' }],
    ['no key', { 'alerts.channels.azure_eventgrid.key': '' }],
    ['an ARN of something else', { 'alerts.channels.aws_sns.topicArn': 'arn:aws:s3:::bucket' }],
    ['a private mail server', { 'alerts.channels.email.server': 'smtp://10.0.0.1:25' }],
    ['a mail server with a path', { 'alerts.channels.email.server': 'smtp://example.org/../x' }],
    ['no mail server', { 'alerts.channels.email.server': '' }],
    ['the metadata service', { 'alerts.channels.aws_sqs.endpoint': 'http://169.254.169.254' }],
  ])('refuse %s, without the value of a secret', (_what, members) => {
    expect(() => channels({ ...settings(), ...members })).toThrow(ConfigError);
    expect(() => channels({ ...settings(), ...members })).not.toThrow(/10\.0\.0\.1\/x|short'/);
  });

  it('refuse operator notices without a target', () => {
    const config = load({ 'alerts.notices.channels': ['slack'] });
    const options = { config, store: {}, log: {}, instance: '', stream: { publish() {}, forward() {} } };
    expect(() => new AlertDispatch(options as unknown as AlertDispatchOptions)).toThrow(
      /alerts\.notices\.channels: 'slack' has no target/,
    );
  });

  it('sign requests of webhooks, with an idempotency key', async () => {
    const body = stringifyExactly({ ...MESSAGE, attributes: { big: exactNumber('12345678901234567890.5') } });
    expect(await send('webhook', body)).toEqual({ kind: 'accepted' });
    const [one] = receiver.received;
    expect(isSigned(one!)).toBe(true);
    expect(one!.headers).toMatchObject({ 'idempotency-key': 'incident:started' });
    expect(one!.body).toBe(`{"type":"alert",${body.slice(1)}`);
    expect(one!.body).toContain('12345678901234567890.5');
  });

  it('send frames to the stream', async () => {
    await send('websocket');
    expect(frames).toMatchObject([
      {
        ...{ alertId: 'incident:started', kind: 'alert-started', severity: 'warning', subject: 'Depot' },
        ...{ message: 'truck-1 entered Yard', layerIds: [5] },
      },
    ]);
  });

  it('send blocks to Slack', async () => {
    await send('slack');
    const { text, blocks } = JSON.parse(receiver.received[0]!.body);
    expect(text).toBe('Warning: Depot');
    expect(blocks[0]).toEqual({
      type: 'header',
      text: { type: 'plain_text', text: 'Warning: Depot', emoji: false },
    });
    expect(blocks[1].fields[0].text).toBe('Event: truck-1 entered Yard');
  });

  it('send adaptive cards to Teams', async () => {
    await send('microsoft_teams');
    const { type, attachments } = JSON.parse(receiver.received[0]!.body);
    expect(type).toBe('message');
    expect(attachments[0].contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(attachments[0].content).toMatchObject({ type: 'AdaptiveCard', version: '1.4' });
  });

  it('send mails in one thread per incident', async () => {
    expect(await send('email')).toEqual({ kind: 'accepted' });
    await send('email', stringifyExactly({ ...MESSAGE, incidentStatus: 'ended' }), 'incident:ended');
    const [one, other] = mail.mails;
    expect(one).toMatchObject({ from: 'alerts@example.org', to: ['duty@example.org'] });
    expect(one!.raw).toMatch(/^Subject: Warning: Depot\r$/m);
    const header = (raw: string, name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(raw)?.[1];
    expect(header(one!.raw, 'References')).toBe(header(other!.raw, 'References'));
    expect(header(one!.raw, 'Message-ID')).not.toBe(header(other!.raw, 'Message-ID'));
    await send('digest', joinBodies([JSON.stringify(MESSAGE)], 3));
    expect(mail.mails[2]).toMatchObject({ to: ['boss@example.org'] });
    expect(mail.mails[2]!.raw).toContain('3 alerts');
  });

  it('retry mails that a server defers, and not those that it refuses', async () => {
    mail.reply = { code: 451, text: 'later' };
    expect(await send('email')).toMatchObject({ kind: 'retry', isAnswer: false });
    mail.reply = { code: 554, text: 'never' };
    expect(await send('email')).toMatchObject({ kind: 'refused' });
    await mail.close();
    expect(await send('email')).toMatchObject({ kind: 'retry', isAnswer: false });
    mail = await startMailServer();
  });

  it('send signed messages to SNS and SQS, with keys that drop repeated ones', async () => {
    receiver.answer = (response, { headers, body }) => {
      const isQueue = String(headers['x-amz-target'] ?? '').includes('SQS');
      const xml =
        '<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>';
      response.writeHead(200, { 'content-type': isQueue ? 'application/x-amz-json-1.0' : 'text/xml' });
      const MD5OfMessageBody = isQueue && hash('md5', JSON.parse(body).MessageBody);
      response.end(isQueue ? JSON.stringify({ MessageId: '1', MD5OfMessageBody }) : xml);
    };
    expect(await send('aws_sns')).toEqual({ kind: 'accepted' });
    expect(await send('aws_sqs')).toMatchObject({ kind: 'accepted' });
    const [topic, queue] = receiver.received;
    expect(isSignedV4(topic!, 'sns', 'eu-central-1')).toBe(true);
    expect(isSignedV4(queue!, 'sqs', 'eu-central-1')).toBe(true);
    const published = new URLSearchParams(topic!.body);
    expect(published.get('TopicArn')).toBe(TOPIC);
    expect(JSON.parse(published.get('Message')!)).toMatchObject({
      type: 'alert',
      incidentKey: MESSAGE.incidentKey,
    });
    const sent = JSON.parse(queue!.body);
    expect(sent.MessageDeduplicationId).toBe(published.get('MessageDeduplicationId'));
    expect(sent.MessageGroupId).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    [400, 'InvalidParameter', 'refused'],
    [400, 'Throttling', 'retry'],
    [403, 'ExpiredToken', 'retry'],
    [500, 'InternalError', 'retry'],
  ])('read status %i with %s of AWS as %s', async (status, code, kind) => {
    receiver.answer = (response) =>
      response
        .writeHead(status, { 'content-type': 'text/xml' })
        .end(`<ErrorResponse><Error><Code>${code}</Code><Message>m</Message></Error></ErrorResponse>`);
    expect(await send('aws_sns')).toMatchObject({ kind });
    expect(receiver.received).toHaveLength(1);
  });

  it('send CloudEvents to Event Grid and to Event Hubs', async () => {
    await send('azure_eventgrid');
    await send('azure_eventhub');
    const [grid, hub] = receiver.received;
    expect(grid!.headers).toMatchObject({ 'aeg-sas-key': 'grid key' });
    for (const { headers, body } of [grid!, hub!]) {
      expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
      expect(JSON.parse(body)).toMatchObject({
        ...{ specversion: '1.0', id: 'incident:started', source: 'graticule', subject: 'alert/42' },
        ...{ type: 'graticule.alert.started', time: MESSAGE.occurredAt, data: { ruleName: 'Depot' } },
      });
    }
    expect(hub!.path).toBe('/hub/messages');
    const [, sr, sig, se] =
      /^SharedAccessSignature sr=([^&]+)&sig=([^&]+)&se=(\d+)&skn=send$/.exec(hub!.headers.authorization!) ??
      [];
    expect(decodeURIComponent(sr!)).toBe(`${receiver.url}/hub`);
    const expected = createHmac('sha256', 'hub key').update(`${sr}\n${se}`).digest('base64');
    expect(decodeURIComponent(sig!)).toBe(expected);
    expect(JSON.parse(hub!.headers['brokerproperties'] as string).PartitionKey).toMatch(/^[0-9a-f]{32}$/);
  });

  it('stop when the lane stops', async () => {
    receiver.answer = () => {};
    for (const channel of ['webhook', 'aws_sns'] as const) {
      const stop = new AbortController();
      const sending = channels().get(channel)!.sender.send('id', JSON.stringify(MESSAGE), stop.signal);
      await expect.poll(() => receiver.received.length).toBeGreaterThan(0);
      receiver.received.length = 0;
      stop.abort();
      expect(await sending).toMatchObject({ kind: 'retry' });
    }
  });
});

describe('hostile names', () => {
  const body = JSON.stringify(hostileMessage());
  const content = () => readContent('incident:started', body);
  const controls = /[\p{Cc}\u202e]/u;

  it('are one line of text without control characters', () => {
    for (const text of [content().title, ...content().facts.flat()]) {
      expect(text).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(text).toBe(Buffer.from(text).toString());
    }
    expect(cleanText(HOSTILE)).not.toContain('\n');
    expect(clipText('ab😀cd', 4)).toBe('ab…');
  });

  it('mention nobody in Slack, and keep its limits', () => {
    const long = readContent('x', JSON.stringify({ ...hostileMessage(), ruleName: '<&>'.repeat(400) }));
    for (const { body: sent } of [formatSlack(content()), formatSlack(long)]) {
      const { text, blocks } = JSON.parse(sent);
      expect(sent).not.toMatch(/[<>]/);
      expect(sent).not.toMatch(controls);
      expect(text.length).toBeLessThanOrEqual(4000);
      expect(blocks[0].text.text.length).toBeLessThanOrEqual(150);
      expect(blocks[0].text.text).not.toMatch(/&(?!amp;|lt;|gt;)/);
      for (const { fields = [] } of blocks) {
        expect(fields.length).toBeLessThanOrEqual(10);
        for (const field of fields) expect(field.text.length).toBeLessThanOrEqual(2000);
      }
    }
  });

  it('have no Markdown in Teams, whose messages stay below 28 KB', () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`${i}${HOSTILE}`, '𝄞'.repeat(5000)]),
    );
    const many = JSON.stringify({ ...hostileMessage(), attributes });
    const digest = joinBodies(Array(50).fill(body), 100_000);
    for (const text of [body, many, digest]) {
      const { body: sent } = formatTeams(readContent('x', text));
      expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(TEAMS_BYTES);
      expect(sent).not.toContain('"TextBlock"');
      expect(sent).not.toMatch(controls);
    }
  });

  it('add no header and no markup to mails', async () => {
    await send('email', body);
    const [{ raw, to }] = mail.mails as [TestMailServer['mails'][number]];
    expect(to).toEqual(['duty@example.org']);
    const [headers] = raw.split('\r\n\r\n');
    expect(headers!.split('\r\n').every((line) => /^([\w-]+: |\s)/.test(line))).toBe(true);
    expect(headers).not.toMatch(/^bcc:/im);
    expect(headers).not.toMatch(/^\s+bcc:/im);
    expect(String(formatMail(content(), addresses).html)).not.toContain('<script>');
  });

  it('leave printable ASCII in the subject of SNS', () => {
    expect(formatSns(content(), TOPIC).Subject).toMatch(/^[ -~]{1,100}$/);
  });

  it('are data in JSON', async () => {
    await send('webhook', body);
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ ruleName: JSON.parse(body).ruleName });
  });
});

it('messages about an end have its time and reason', () => {
  const ended = { incidentStatus: 'ended', endedAt: '2026-11-30T12:00:00.000Z', endReason: 'deleted' };
  const { time, facts } = readContent('e', JSON.stringify({ ...MESSAGE, ...ended }));
  expect(time).toBe(ended.endedAt);
  expect(facts).toEqual(
    expect.arrayContaining([
      ['Started', MESSAGE.occurredAt],
      ['Ended', ended.endedAt],
      ['Reason', 'The feature was deleted'],
    ]),
  );
  expect(facts.map(([name]) => name)).not.toContain('Time');
});

it('reads notices and digests', () => {
  const notice = formatNotice(
    { kind: 'delivery-failing', severity: 'error', subject: ':alert:slack', message: 'down' },
    MESSAGE.occurredAt,
  );
  expect(readContent('n', notice)).toMatchObject({
    ...{ kind: 'notice', topic: 'delivery-failing', severity: 'critical', layerIds: [] },
    title: 'Graticule: delivery-failing',
  });
  const digest = readContent('d', joinBodies([JSON.stringify(MESSAGE), notice], 1000));
  expect(digest).toMatchObject({ kind: 'digest', title: '1000 alerts', severity: 'critical', layerIds: [5] });
  expect(digest.facts.at(-1)).toEqual(['More', '998 further alerts are not listed']);
});
