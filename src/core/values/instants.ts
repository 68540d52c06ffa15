/** An instant in RFC 3339 for readers, without a time of day that is midnight: `1999-12-31`, `2020-05-01 06:30:00 UTC`. */
export function formatInstant(iso: string): string {
  return iso.replace(/T00:00:00(?:\.0+)?Z$/, '').replace(/T(.*)Z$/, ' $1 UTC');
}
