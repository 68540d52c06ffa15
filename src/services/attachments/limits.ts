export const ATTACHMENT_LIMITS = {
  /**
   * Maximum number of files received at the same time before their callers are known, because the token can follow
   * the file in the form.
   */
  unknownAttachments: 3,
  /** Maximum pixels of an attached image. */
  attachmentPixels: 100_000_000,
  /** Maximum characters of the name of an attachment. */
  attachmentName: 255,
  /** Milliseconds before the server removes bytes without an attachment. */
  attachmentOrphanMs: 3_600_000,
  /**
   * Milliseconds that attachments are kept after their file was replaced by another one, because the file can return.
   */
  attachmentAsideMs: 2_592_000_000,
} as const;
