import { signBody } from '../../deliveries/signature.js';
import type { AlertContent } from './content.js';
import type { ChannelRequest } from './json-post.js';

/** Signed request of a webhook. */
export function formatWebhook({ id, json }: AlertContent, secret: string): ChannelRequest {
  return {
    body: json,
    headers: {
      'content-type': 'application/json',
      'idempotency-key': id,
      'x-svc-event-id': id,
      ...signBody(json, secret),
    },
  };
}
