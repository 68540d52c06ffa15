import type { AlertContent } from './content.js';
import type { ChannelRequest } from './json-post.js';

/** Maximum bytes of an event of Event Grid. */
export const EVENT_BYTES = 1_000_000;

/** Type of a CloudEvent: `graticule.alert.started`, `graticule.notice.delivery-failing`, `graticule.digest`. */
export const formatType = ({ kind, topic }: AlertContent) =>
  kind === 'digest' ? 'graticule.digest' : `graticule.${kind}.${topic}`;

/** CloudEvent 1.0, structured JSON. */
export function formatCloudEvent(content: AlertContent): string {
  const { id, time, resourceRef, incident, json } = content;
  const attributes = {
    ...{ specversion: '1.0', id, source: 'graticule', type: formatType(content) },
    ...(resourceRef === undefined ? {} : { subject: resourceRef }),
    ...(incident === undefined ? {} : { incidentkey: incident }),
    ...{ time, datacontenttype: 'application/json' },
  };
  // Numbers in the data keep all digits.
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${json}}`;
}

/** Request to a topic of Azure Event Grid. */
export function formatEventGrid(content: AlertContent, key: string): ChannelRequest {
  return {
    body: formatCloudEvent(content),
    headers: { 'content-type': 'application/cloudevents+json; charset=utf-8', 'aeg-sas-key': key },
  };
}
