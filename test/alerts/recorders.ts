import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { AlertMessage } from '../../src/core/alerts/alerts.js';
import type { Delivery } from '../webhooks/receiver.js';

export const MESSAGE: AlertMessage = {
  ...{ eventId: 42, incidentKey: 'rule-7/spots/1/42', ruleId: 7, ruleName: 'Depot', zoneId: 3 },
  ...{ zoneName: 'Yard', serviceId: 'default', layerId: 5, layerTitle: 'Trucks', featureId: 'truck-1' },
  ...{ objectId: 1, triggerType: 'enter', severity: 'warning', incidentStatus: 'started' },
  ...{ occurredAt: '2026-01-02T03:04:05.000Z', detectedBy: 'event' },
  ...{ geometry: { type: 'Point', coordinates: [7.4, 46.9] }, attributes: { name: 'Blue', speed: 12.5 } },
  ...{ omitted: [], resourceRef: 'alert/42' },
};

/** Texts that would do something if a channel did not quote them. */
export const HOSTILE =
  'a\r\nBcc: x@evil.test <!channel> &amp; [x](http://evil.test) *b* <script>\u001b]8;;x\u0007\u202e\ud800';

export const hostileMessage = (): AlertMessage => ({
  ...MESSAGE,
  ...{ ruleName: HOSTILE, zoneName: HOSTILE, layerTitle: HOSTILE, featureId: HOSTILE },
  attributes: { [HOSTILE]: HOSTILE, formula: "=cmd|' /C calc'!A0", ['__proto__x']: { deep: [HOSTILE] } },
});

export interface TestMailServer {
  url: string;
  readonly mails: { from: string; to: string[]; raw: string }[];
  /** Reply to the data of the next mails. Default: accepted. */
  reply: { code: number; text: string } | undefined;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<TestMailServer> {
  const mails: TestMailServer['mails'] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        const raw = Buffer.concat(parts).toString('utf8');
        mails.push({ from, to: rcptTo.map(({ address }) => address), raw });
        if (!test.reply) return done();
        done(Object.assign(new Error(test.reply.text), { responseCode: test.reply.code }));
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const test: TestMailServer = {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    mails,
    reply: undefined,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return test;
}

export const AWS_KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a secret of AWS' };

/** Whether a request has a valid AWS Signature Version 4 of the test key, computed without the SDK. */
export function isSignedV4({ path, headers, body }: Delivery, service: string, region: string): boolean {
  const auth = headers.authorization ?? '';
  const [, scope = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(auth) ??
    [];
  const date = String(headers['x-amz-date']);
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const canonical = [
    ...['POST', path, ''],
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    ...['', names, hash(body)],
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n');
  const sign = (key: string | Buffer, value: string) => createHmac('sha256', key).update(value).digest();
  const key = [date.slice(0, 8), region, service, 'aws4_request'].reduce<string | Buffer>(
    sign,
    `AWS4${AWS_KEY.secretAccessKey}`,
  );
  return sign(key, text).toString('hex') === signature;
}
