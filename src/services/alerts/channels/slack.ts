import type { AlertContent } from './content.js';
import type { ChannelRequest } from './json-post.js';
import { clipText } from './plain-text.js';

/** Limits of Block Kit: characters of a header and of a text, fields of a section. */
const HEADER = 150;
const FIELD = 2000;
const FIELDS = 10;
const MAX_SECTIONS = 4;

/** Escapes the characters of Slack's markup: without them, a text contains no mentions or links. */
const quote = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/** Plain text, within a limit after escaping. Escapes are not divided. */
function plain(text: string, maximum: number) {
  let length = maximum;
  while (quote(clipText(text, length)).length > maximum) length -= Math.ceil(length / 8);
  return { type: 'plain_text', text: quote(clipText(text, length)) || '-', emoji: false };
}

const ICONS = { info: 'Info', warning: 'Warning', critical: 'Critical' } as const;

/** Message of Slack in Block Kit. */
export function formatSlack({ title, severity, facts, time, id }: AlertContent): ChannelRequest {
  const sections = [];
  for (let i = 0; i < Math.min(facts.length, FIELDS * MAX_SECTIONS); i += FIELDS)
    sections.push({
      type: 'section',
      fields: facts.slice(i, i + FIELDS).map(([name, value]) => plain(`${name}: ${value}`, FIELD)),
    });
  const blocks = [
    { type: 'header', text: plain(`${ICONS[severity]}: ${title}`, HEADER) },
    ...sections,
    { type: 'context', elements: [plain(`${time} ${id}`, FIELD)] },
  ];
  const text = quote(`${ICONS[severity]}: ${title}`);
  const body = JSON.stringify({ text, blocks, unfurl_links: false, unfurl_media: false });
  return { body, headers: { 'content-type': 'application/json; charset=utf-8' } };
}
