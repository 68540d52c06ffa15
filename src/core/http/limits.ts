export const HTTP_LIMITS = {
  /** Items of a page of features where the request says nothing (contract). */
  itemsDefault: 1000,
  /** Results kept in a process for clients that read parts of them: how many, and bytes of all; one may have more. */
  partialReplies: 64,
  partialBytes: 536_870_912,
  /** Levels, values and object members of a JSON request body. Default for all operations. */
  bodyDepth: 72,
  bodyValues: 50_000,
  bodyNames: 20_000,
  /** A body of a client without a key, for any operation: bytes, values, members of objects, and bytes of one string. */
  anonymousBodyBytes: 524_288,
  anonymousBodyValues: 10_000,
  anonymousBodyNames: 2500,
  anonymousBodyString: 8192,
  /** Fields of a form. */
  formFields: 100,
  /** Bytes of a body above which it is parsed in a separate event-loop iteration. */
  turnBodyBytes: 4096,
  /** Bytes of all bodies in transfer, and of bodies of anonymous clients. */
  receivedBytes: 268_435_456,
  anonymousReceivedBytes: 33_554_432,
  /** Request line and headers together. */
  headBytes: 32_768,
  /** Seconds within which a request body must have arrived. */
  bodySeconds: 60,
  /** Bytes and milliseconds for reading a rejected body before the response is sent and the connection closed. */
  lingerBytes: 67_108_864,
  lingerMs: 2000,
  lingerQuietMs: 200,
  /** Response bytes that may wait unsent for one slow client before the producer pauses. */
  sendBuffer: 262_144,
  /** Responses in parts that are compressed at the same time. Further ones are sent uncompressed. */
  compressedStreams: 128,
  /** Unread bytes of large responses to all slow clients, above which the slowest are disconnected. */
  unsentBytes: 268_435_456,
  /** Characters of a response stored for its idempotency key. */
  idempotentReplyBytes: 4_194_304,
} as const;
