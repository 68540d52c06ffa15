/** `keyed`: a principal that signed in. `anonymous`: anyone else. `background`: the server itself and its jobs. */
export const CALLER_CLASSES = ['keyed', 'anonymous', 'background'] as const;
export type CallerClass = (typeof CALLER_CLASSES)[number];

/** Caller of a task. Each request has its own object, so that a limit can count requests. */
export interface Caller {
  readonly class: CallerClass;
  /** Tells callers of a class apart: a principal, or the network of an address. */
  readonly id: string;
}

/** The server itself: the caller of each task that no request names. */
export const BACKGROUND: Caller = { class: 'background', id: 'server' };
