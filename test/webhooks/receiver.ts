import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export const SECRET = 'a secret of the receiver';

/** An HTTP server that takes events as a webhook's receiver. */
export interface TestReceiver {
  url: string;
  /** Everything that was sent, refused or not. */
  received: Delivery[];
  /** Decides the next answers; 204 when absent. */
  answer: ((response: ServerResponse, request: Delivery) => void) | undefined;
  close(): Promise<void>;
}

export async function startReceiver(address = '127.0.0.1'): Promise<TestReceiver> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const one = { path: request.url ?? '', headers: request.headers, body };
    receiver.received.push(one);
    if (receiver.answer) receiver.answer(response, one);
    else response.writeHead(204).end();
  }).listen(0, address);
  await once(server, 'listening');
  const receiver: TestReceiver = {
    url: `http://${address}:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

/** Whether a request carries the signature of its body under the secret. */
export function isSigned({ headers, body }: Delivery): boolean {
  const time = headers['x-svc-event-timestamp'];
  const expected = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
  return headers['x-svc-signature'] === `sha256=${expected}`;
}

/** Waits until `look` is true, or fails after a minute. */
export async function until(look: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const late = Date.now() + ms;
  while (!(await look())) {
    if (Date.now() > late) throw new Error('it did not come to pass');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
