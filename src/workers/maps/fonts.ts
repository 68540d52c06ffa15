import { createHash } from 'node:crypto';
import { writeMapnikElement } from './symbolizers/xml.js';

/** Font sets of one map definition: lists of alternative faces, in the order of preference. */
export class Fonts {
  readonly #facesOf: (stack: readonly string[]) => readonly string[];
  readonly #sets = new Map<string, string>();

  constructor(facesOf: (stack: readonly string[]) => readonly string[]) {
    this.#facesOf = facesOf;
  }

  /** Name of the font set for a `text-font`. */
  fontSet(stack: readonly string[]): string {
    const faces = this.#facesOf(stack).map((face) => writeMapnikElement('Font', { 'face-name': face }));
    const content = faces.join('');
    const name = `fonts-${createHash('sha1').update(content).digest('hex').slice(0, 12)}`;
    this.#sets.set(name, content);
    return name;
  }

  /** Definitions by name. */
  get sets(): ReadonlyMap<string, string> {
    return this.#sets;
  }
}
