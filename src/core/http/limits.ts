export const HTTP_LIMITS = {
  /** Items of a page of features where the request says nothing (contract). */
  itemsDefault: 1000,
  /** Results kept in a process for clients that read parts of them: how many, and bytes of all; one may have more. */
  partialReplies: 64,
  partialBytes: 536_870_912,
  /** Levels, values and members of objects of a JSON request body, where its operation says nothing else. */
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
  /** Bytes of a body above which it is read in a turn of the event loop of its own. */
  turnBodyBytes: 4096,
  /** Bytes of all bodies that are being received, and of those of anonymous clients. */
  receivedBytes: 268_435_456,
  anonymousReceivedBytes: 33_554_432,
  /** Request line and headers together. */
  headBytes: 32_768,
  /** Seconds within which a request body must have arrived. */
  bodySeconds: 60,
  /** What is taken of a body after its refusal, before the answer goes out and the connection is closed. */
  lingerBytes: 67_108_864,
  lingerMs: 2000,
  lingerQuietMs: 200,
  /** Response bytes that may wait unsent for one slow client before the producer pauses. */
  sendBuffer: 262_144,
  /** Answers in parts that are compressed at once; further ones are sent as they are. */
  compressedStreams: 128,
  /** Bytes of large answers that all slow clients together may leave unread before the slowest are cut off. */
  unsentBytes: 268_435_456,
  /** Characters of an answer that is kept for its idempotency key. */
  idempotentReplyBytes: 4_194_304,
} as const;
