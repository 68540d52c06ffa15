export const ATTACHMENT_LIMITS = {
  /** Files that are received at a time before their callers are known: a token may be behind the file. */
  unknownAttachments: 3,
  /** Pixels of a picture that is attached. */
  attachmentPixels: 100_000_000,
  /** Characters of the name of an attachment. */
  attachmentName: 255,
  /** Milliseconds that bytes are kept which nobody has attached yet, or any more. */
  attachmentOrphanMs: 3_600_000,
  /** Milliseconds that attachments are kept whose file was replaced by another one: it may return. */
  attachmentAsideMs: 2_592_000_000,
} as const;
