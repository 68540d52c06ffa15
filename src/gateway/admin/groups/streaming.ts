import { action, group, report } from '../kit.js';

/** Sessions of the feature stream. */
export const streaming = group({ tag: 'Streaming', scope: 'streaming', envelope: 'wrapped' }, [
  report('GET /streaming/features/sessions', 'List feature stream sessions'),
  action('DELETE /streaming/features/sessions/{sessionId}', 'Disconnect a feature stream session'),
]);
