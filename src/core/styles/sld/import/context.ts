import type { Field, GeometryType } from '../../../sources/vector-source.js';
import { decodeXmlName } from '../../../values/xml-name.js';
import { Untranslatable } from '../export/untranslatable.js';
import { type SldReport, shortenName } from '../report.js';
import { converted, type Expr, type SldExpression, type SldValueKind, type TargetKind } from '../values.js';
import type { XmlElement } from './xml.js';

/** Target of a style. Without it, types of values are derived from their text. */
export interface SldTarget {
  readonly geometryType?: GeometryType | 'raster';
  readonly fields?: readonly Pick<Field, 'name' | 'type'>[];
  /** Names of icons that a style can draw. */
  readonly icons?: ReadonlySet<string>;
  /** False if maps are drawn from tiles, which do not show whether a feature is within an area. */
  readonly places?: boolean;
}

/** State that the parts of a translation share. */
export class SldContext {
  readonly #kinds: ReadonlyMap<string, SldValueKind>;
  readonly #folded: ReadonlyMap<string, string>;

  constructor(
    readonly target: SldTarget,
    readonly report: SldReport,
    /** Reads an element of SE or FES that gives a value. */
    private readonly read: (node: XmlElement, context: SldContext, target: TargetKind) => SldExpression,
  ) {
    const fields = target.fields ?? [];
    this.#kinds = new Map(fields.map(({ name, type }) => [name, convertType(type)]));
    this.#folded = new Map(fields.map(({ name }) => [name.toLowerCase(), name]));
  }

  /** The attribute that a PropertyName means: prefixes, paths and the case of letters are as authors write them. */
  property(xmlName: string): { name: string; kind: SldValueKind } {
    const last = xmlName.split('/').at(-1)!;
    const bare = last.includes(':') ? last.slice(last.indexOf(':') + 1) : last;
    if (this.#kinds.size === 0) return { name: bare, kind: 'unknown' };
    for (const name of [xmlName, bare, decodeXmlName(bare), this.#folded.get(bare.toLowerCase())]) {
      const kind = name === undefined ? undefined : this.#kinds.get(name);
      if (kind !== undefined) return { name: name!, kind };
    }
    this.report.warn('PropertyName', `The layer has no attribute ${shortenName(bare)}.`);
    return { name: bare, kind: 'unknown' };
  }

  /** The value of an element of SE or FES. @throws Untranslatable */
  typed(node: XmlElement, target: TargetKind = 'any'): SldExpression {
    return this.read(node, this, target);
  }

  /** As `typed`, converted to the target kind. @throws Untranslatable */
  expression(node: XmlElement, target: TargetKind): Expr {
    return converted(this.typed(node, target), target);
  }

  /** Result of `make`, or undefined and a diagnostic if it cannot be translated. */
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

function convertType(type: Field['type']): SldValueKind {
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
