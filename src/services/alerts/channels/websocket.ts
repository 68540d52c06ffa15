import type { AlertFrame } from '../../../core/cluster/notes.js';
import type { Sender } from '../../deliveries/lane.js';
import { ACCEPTED } from '../../deliveries/outcome.js';
import { type AlertContent, readContent } from './content.js';

/** Frames that can be sent a second time after a crash. */
const BATCH = 20;

/** Frame for the subscribers of all servers. */
function formatAlertFrame(content: AlertContent): AlertFrame {
  const { id, kind, topic, severity, title, facts, layerIds, tenant, json } = content;
  return {
    ...{ alertId: id, kind: kind === topic ? kind : `${kind}-${topic}`, severity, subject: title },
    message: kind === 'digest' ? title : (facts[0]?.[1] ?? title),
    ...{ layerIds, json, ...(tenant === undefined ? {} : { tenant }) },
  };
}

/** Sends messages to the stream of alerts. `publish` reaches the subscribers of all servers. */
export function createStreamSender(publish: (frame: AlertFrame) => void): Sender {
  return {
    batch: BATCH,
    async send(eventId, body) {
      publish(formatAlertFrame(readContent(eventId, body)));
      return ACCEPTED;
    },
  };
}
