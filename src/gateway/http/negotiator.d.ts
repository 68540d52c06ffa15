/** What we call of negotiator 1, whose published types are those of an older one. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> });
    /** The codings of `available` that the client takes, the preferred first; `preferred` decides between equals. */
    encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[];
  }
}
