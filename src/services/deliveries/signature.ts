import { createHmac } from 'node:crypto';

/** Headers that prove to a receiver who sent a body, and when. */
export function signBody(body: string, secret: string): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return { 'x-svc-event-timestamp': time, 'x-svc-signature': `sha256=${signature}` };
}
