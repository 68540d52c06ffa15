const ELSEWHERE = 'http://elsewhere.invalid';

/** A path of this site, with its query; undefined for whatever a browser could take for the address of another one. */
export function localPath(text: string | undefined): string | undefined {
  if (text === undefined || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return undefined;
  const url = URL.canParse(text, ELSEWHERE) ? new URL(text, ELSEWHERE) : undefined;
  if (url?.origin !== ELSEWHERE || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search + url.hash;
}
