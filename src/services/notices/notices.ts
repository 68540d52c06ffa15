import type { Notice } from '../../core/cluster/notes.js';

/** Receiver of notices to operators. */
export interface Notices {
  notify(notice: Notice): void;
}
