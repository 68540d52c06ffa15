import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import type * as Cards from 'adaptivecards';
import { describe, expect, it } from 'vitest';
import { formatNotice, joinBodies, readContent } from '../../src/services/alerts/channels/content.js';
import { formatCloudEvent } from '../../src/services/alerts/channels/eventgrid.js';
import { formatSlack } from '../../src/services/alerts/channels/slack.js';
import { formatTeams } from '../../src/services/alerts/channels/teams.js';
import { pythonOfClients } from '../support/python.js';
import { HOSTILE, hostileMessage, MESSAGE } from './recorders.js';

/** Messages of channels, read by libraries of their vendors. */

const cards = createRequire(import.meta.url)('adaptivecards/dist/adaptivecards.js') as typeof Cards;

const attributes = Object.fromEntries(
  Array.from({ length: 60 }, (_, i) => [`${i}${HOSTILE}`, '𝄞<&>'.repeat(3000)]),
);
const bodies = [
  JSON.stringify(MESSAGE),
  JSON.stringify(hostileMessage()),
  JSON.stringify({ ...hostileMessage(), attributes }),
  JSON.stringify({ ...MESSAGE, incidentStatus: 'ended', zoneName: null }),
  formatNotice({ kind: 'delivery-failing', severity: 'error', subject: HOSTILE, message: HOSTILE } as never),
  joinBodies(Array(50).fill(JSON.stringify(hostileMessage())), 100_000),
];

const check = (channel: string, messages: readonly string[]) => {
  const input = messages.map((body) => JSON.stringify({ channel, body })).join('\n');
  return JSON.parse(
    execFileSync(pythonOfClients(), ['test/alerts/vendor_formats.py'], { input, encoding: 'utf8' }),
  );
};

/** What the renderer of adaptive cards refuses in a card. */
function checkCard(body: string): string[] {
  const { attachments } = JSON.parse(body) as { attachments: { content: object }[] };
  const context = new cards.SerializationContext(cards.Versions.v1_4);
  const card = new cards.AdaptiveCard();
  card.parse(attachments[0]!.content, context);
  const parsed = Array.from({ length: context.eventCount }, (_, i) => context.getEventAt(i).message);
  return [...parsed, ...card.validateProperties().validationEvents.map(({ message }) => message)];
}

describe('messages of channels', () => {
  it('are Block Kit of Slack', () => {
    const messages = bodies.map((body) => formatSlack(readContent('id', body)).body);
    expect(check('slack', messages)).toEqual([]);
    const long = JSON.parse(messages[0]!);
    long.blocks[0].text.text = 'x'.repeat(151);
    expect(check('slack', [JSON.stringify(long)])).toEqual([expect.stringContaining('150 characters')]);
  });

  it('are CloudEvents', () => {
    const messages = bodies.map((body) => formatCloudEvent(readContent('id', body)));
    expect(check('cloudevent', messages)).toEqual([]);
    const wrong = messages[0]!.replace('incidentkey', 'incident_key');
    expect(check('cloudevent', [wrong])).toEqual([expect.stringContaining('incident_key')]);
  });

  it('are adaptive cards of Teams', () => {
    const messages = bodies.map((body) => formatTeams(readContent('id', body)).body);
    expect(messages.flatMap(checkCard)).toEqual([]);
    expect(checkCard(messages[0]!.replaceAll('"Bolder"', '"Boldest"'))).toEqual(
      expect.arrayContaining([expect.stringContaining('Boldest')]),
    );
  });
});
