import { createHash, createHmac } from 'node:crypto';
import type { AlertContent } from './content.js';
import { formatCloudEvent } from './eventgrid.js';
import type { ChannelRequest } from './json-post.js';

export interface EventHubKey {
  /** URL of the event hub. */
  readonly url: string;
  readonly keyName: string;
  readonly key: string;
}

/** Seconds for which a signature is valid. */
const VALID_SECONDS = 600;

/** SharedAccessSignature of Azure Event Hubs. */
function signEventHub({ url, keyName, key }: EventHubKey, seconds: number): string {
  const resource = encodeURIComponent(url);
  const expiry = Math.floor(seconds) + VALID_SECONDS;
  const signature = createHmac('sha256', key).update(`${resource}\n${expiry}`).digest('base64');
  const parts = {
    sr: resource,
    sig: encodeURIComponent(signature),
    se: expiry,
    skn: encodeURIComponent(keyName),
  };
  return `SharedAccessSignature ${Object.entries(parts)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')}`;
}

/** Request to Azure Event Hubs. Messages about an incident are in one partition, so they are in order. */
export function formatEventHub(
  content: AlertContent,
  target: EventHubKey,
  seconds = Date.now() / 1000,
): ChannelRequest {
  const { incident, id } = content;
  const PartitionKey = createHash('sha256')
    .update(incident ?? id)
    .digest('hex')
    .slice(0, 32);
  return {
    body: formatCloudEvent(content),
    headers: {
      authorization: signEventHub(target, seconds),
      'content-type': 'application/cloudevents+json; charset=utf-8',
      brokerproperties: JSON.stringify({ PartitionKey }),
    },
  };
}
