import type { Field, GeometryType } from '../../tasks.js';
import { nameOfXml } from '../../xml-name.js';
import { type SldReport, shortened } from './report.js';

/** What a style is for; without it values are taken for what they look like. */
export interface SldTarget {
  readonly geometryType?: GeometryType | 'raster';
  readonly fields?: readonly Pick<Field, 'name' | 'type'>[];
  /** Names of icons that a style can draw. */
  readonly icons?: ReadonlySet<string>;
  /** False where maps are drawn from tiles, which do not tell whether a feature lies within an area. */
  readonly places?: boolean;
}

/** A value of a style: a constant or an expression of the MapLibre style specification. */
export type Expr = string | number | boolean | null | readonly Expr[] | { readonly [name: string]: unknown };

export type Kind = 'number' | 'string' | 'boolean' | 'color' | 'unknown';

/** A construct without counterpart: what uses it decides what becomes of that. */
export class Untranslatable extends Error {
  constructor(
    readonly construct: string,
    message: string,
  ) {
    super(message);
  }
}

/** What the parts of a translation share. */
export class SldContext {
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #folded: ReadonlyMap<string, string>;

  constructor(
    readonly target: SldTarget,
    readonly report: SldReport,
  ) {
    const fields = target.fields ?? [];
    this.#kinds = new Map(fields.map(({ name, type }) => [name, kindOf(type)]));
    this.#folded = new Map(fields.map(({ name }) => [name.toLowerCase(), name]));
  }

  /** The attribute that a PropertyName means: prefixes, paths and the case of letters are as authors write them. */
  property(written: string): { name: string; kind: Kind } {
    const last = written.split('/').at(-1)!;
    const bare = last.includes(':') ? last.slice(last.indexOf(':') + 1) : last;
    if (this.#kinds.size === 0) return { name: bare, kind: 'unknown' };
    for (const name of [written, bare, nameOfXml(bare), this.#folded.get(bare.toLowerCase())]) {
      const kind = name === undefined ? undefined : this.#kinds.get(name);
      if (kind !== undefined) return { name: name!, kind };
    }
    this.report.warn('PropertyName', `The layer has no attribute ${shortened(bare)}.`);
    return { name: bare, kind: 'unknown' };
  }

  /** What `make` gives, or undefined with a diagnostic where it cannot be translated. */
  attempt<T>(severity: 'warn' | 'error', make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Untranslatable)) throw error;
      this.report[severity](error.construct, error.message);
      return undefined;
    }
  }
}

function kindOf(type: Field['type']): Kind {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'json':
    case 'array':
      return 'unknown';
    default:
      return 'string';
  }
}
