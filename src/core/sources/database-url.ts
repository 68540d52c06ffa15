import { plainText } from '../values/percent.js';

/** URLs of PostgreSQL databases among the sources to publish. */

/** Whether a source is a database rather than a file or folder. */
export function isDatabase(source: string): boolean {
  return /^postgres(ql)?:\/\//i.test(source);
}

const SECRET_PARAMETERS = new Set(['password', 'sslpassword']);

/** Database URL without its passwords, which still identifies the database. Other text is returned unchanged. */
export function withoutPassword(source: string): string {
  if (!isDatabase(source)) return source;
  const [, scheme, rest] = /^(\w+:\/\/)(.*)$/s.exec(source)!;
  const question = rest!.indexOf('?', brokenPassword(rest!) ? rest!.lastIndexOf('@') : 0);
  const authority = question < 0 ? rest! : rest!.slice(0, question);
  const query = question < 0 ? [] : rest!.slice(question + 1).split('&');
  // The password ends at the last @, because it can contain an unescaped one.
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? '' : `${authority.slice(0, at).split(':')[0]}@`;
  const parameters = query.filter(
    (parameter) => !SECRET_PARAMETERS.has(plainText(parameter.split('=')[0]!).toLowerCase()),
  );
  return `${scheme}${user}${authority.slice(at + 1)}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
}

/** Whether a ? belongs to a password with an unescaped one: the text before it is not a host with a port. */
function brokenPassword(rest: string): boolean {
  const [before] = rest.split('?');
  return before !== rest && rest.includes('@') && !before!.includes('@') && /:(?!\d*([/,]|$))/.test(before!);
}
