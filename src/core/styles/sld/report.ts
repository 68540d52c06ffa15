import { STYLE_LIMITS } from '../limits.js';

/** Loss or change of a translation, with its position. */
export interface SldDiagnostic {
  /** `Error`: a part is not drawn; `Warning`: it is drawn otherwise than the author meant. */
  readonly severity: 'Warning' | 'Error';
  /** Name of the element, or of the member of the style. */
  readonly construct: string;
  readonly message: string;
  readonly ruleName?: string;
}

/** The text is not readable SLD, so the complete translation fails. */
export class SldFailure extends Error {
  constructor(
    readonly construct: string,
    message: string,
    readonly detectedVersion?: SldVersion,
  ) {
    super(message);
    this.name = 'SldFailure';
  }

  get diagnostic(): SldDiagnostic {
    return { severity: 'Error', construct: this.construct, message: this.message };
  }
}

export type SldVersion = 'Sld10' | 'Sld11';

/** Collects diagnostics: each one once per rule, and no more than can be read. */
export class SldReport {
  readonly #diagnostics = new Map<string, SldDiagnostic>();
  /** Name of the rule that is being translated. */
  ruleName: string | undefined;

  warn(construct: string, message: string): void {
    this.#add('Warning', construct, message);
  }

  error(construct: string, message: string): void {
    this.#add('Error', construct, message);
  }

  get diagnostics(): SldDiagnostic[] {
    return [...this.#diagnostics.values()];
  }

  #add(severity: SldDiagnostic['severity'], construct: string, message: string): void {
    if (this.#diagnostics.size >= STYLE_LIMITS.styleDiagnostics) return;
    const name = shortenName(construct);
    const key = `${severity} ${name} ${this.ruleName ?? ''} ${message}`;
    this.#diagnostics.set(key, {
      severity,
      construct: name,
      message: shortenName(message, 500),
      ...(this.ruleName === undefined ? {} : { ruleName: this.ruleName }),
    });
  }
}

/** A name of the author's, short enough to be said back. */
export function shortenName(text: string, max = 80): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
