export const ATTACHMENT_LIMITS = {
  /** Files that are received at a time before their callers are known: a token may be behind the file. */
  unknownAttachments: 3,
  /** Maximum pixels of an attached image. */
  attachmentPixels: 100_000_000,
  /** Characters of the name of an attachment. */
  attachmentName: 255,
  /** Milliseconds before the server removes bytes without an attachment. */
  attachmentOrphanMs: 3_600_000,
  /** Milliseconds that attachments are kept whose file was replaced by another one: it may return. */
  attachmentAsideMs: 2_592_000_000,
} as const;
