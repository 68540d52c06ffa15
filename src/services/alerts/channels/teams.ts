import type { AlertContent } from './content.js';
import type { ChannelRequest } from './json-post.js';

/** Maximum bytes of a message of Teams. */
export const TEAMS_BYTES = 28_000;

const COLORS = { info: 'Accent', warning: 'Warning', critical: 'Attention' } as const;

/** Text runs have no Markdown, so data cannot contain links, mentions or formatting. */
const run = (text: string, members: Readonly<Record<string, unknown>> = {}) => ({
  type: 'TextRun',
  text: text || '-',
  ...members,
});

const line = (...inlines: readonly object[]) => ({ type: 'RichTextBlock', inlines });

/** Adaptive Card 1.4 in the message that Workflows of Teams accept. The last facts are omitted if it is too long. */
export function formatTeams({ title, severity, facts, id }: AlertContent): ChannelRequest {
  const color = COLORS[severity];
  for (let count = facts.length; ; count -= 1) {
    const rows = facts
      .slice(0, count)
      .map(([name, value]) => line(run(`${name}: `, { weight: 'Bolder' }), run(value)));
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      ...{ type: 'AdaptiveCard', version: '1.4' },
      body: [
        line(run(title, { weight: 'Bolder', size: 'Medium', color })),
        ...rows,
        line(run(id, { size: 'Small', isSubtle: true })),
      ],
    };
    const contentType = 'application/vnd.microsoft.card.adaptive';
    const body = JSON.stringify({
      type: 'message',
      attachments: [{ contentType, contentUrl: null, content: card }],
    });
    if (Buffer.byteLength(body) <= TEAMS_BYTES || count === 0)
      return { body, headers: { 'content-type': 'application/json' } };
  }
}
