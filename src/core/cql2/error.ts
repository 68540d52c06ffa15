/** Position of a filter error: a character of the text, counted from 1, or a JSON pointer. */
export type FilterPosition = { position: number } | { pointer: string };

/** A filter that is not CQL2, or does not fit the data. The message may be shown to a client and names the place. */
export class Cql2Error extends Error {
  override readonly name = 'Cql2Error';
  readonly position: number | undefined;
  readonly pointer: string | undefined;

  constructor(message: string, place?: FilterPosition) {
    super(place && 'pointer' in place ? `${message} (at '${place.pointer}')` : message);
    if (!place) return;
    if ('position' in place) this.position = place.position;
    else this.pointer = place.pointer;
  }
}

export const NO_PREDICATE = 'a filter must be a predicate: something that is true or false';

/** Client text as part of a message: short, and on one line. */
export function excerpt(text: string): string {
  const line = text.replace(/\p{C}/gu, '\u{fffd}');
  return line.length > 60 ? `${line.slice(0, 60)}...` : line;
}
