import { readFileSync } from 'node:fs';

let number: string | undefined;

/** Version of the server, from package.json. */
export function version(): string {
  number ??= (
    JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
  ).version;
  return number;
}
