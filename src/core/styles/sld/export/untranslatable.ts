/** Construct without an SLD counterpart. The caller decides the consequence. */
export class Untranslatable extends Error {
  constructor(
    readonly construct: string,
    message: string,
  ) {
    super(message);
  }
}
