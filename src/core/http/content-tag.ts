import { hash } from 'node:crypto';

/** 16 hexadecimal digits that name exactly these bytes. */
export function contentTag(content: string | Uint8Array): string {
  return hash('sha1', content).slice(0, 16);
}
