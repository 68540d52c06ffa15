import { action, group, report } from '../kit.js';

/** Geocoding and streaming as seen by operators. */
export const serviceOperations = group(
  { tag: 'Operations', scope: 'service-operations', envelope: 'wrapped' },
  [
    report('GET /operations/geocoding/providers', 'Get Geocoding Provider Status'),
    report('GET /operations/geocoding/configuration', 'Get Geocoding Configuration'),
    report('GET /operations/streaming/subscribers', 'List Streaming Subscribers'),
    report('GET /operations/streaming/alerts', 'Stream Alert Notifications'),
    action('DELETE /operations/streaming/subscribers/{subscriberId}', 'Disconnect Streaming Subscriber'),
  ],
);
