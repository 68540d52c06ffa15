/** A construct without counterpart: what uses it decides what becomes of that. */
export class Untranslatable extends Error {
  constructor(
    readonly construct: string,
    message: string,
  ) {
    super(message);
  }
}
