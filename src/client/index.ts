/** Client of the feature stream, for browsers and Node. Has no dependencies. */
export { type FollowOptions, followEvents } from './event-stream.js';
export type * from './frames.js';
export { FeatureMirror, formatFeatureKey as keyOf, type MirroredFeature } from './mirror.js';
export {
  FeatureStream,
  type SocketLike,
  type StreamOptions,
  type StreamState,
  type Subscription,
  type SubscriptionHandlers,
} from './stream.js';
