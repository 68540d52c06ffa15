import { SldFailure } from '../report.js';

/** The text of an XML document in the encoding that it declares, or that its first bytes show. @throws SldFailure */
export function decodeXml(xml: Uint8Array): string {
  const start = Buffer.from(xml.subarray(0, 200)).toString('latin1');
  const [, declared = 'utf-8'] =
    /^<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(start) ?? [];
  const [first, second] = xml;
  const wide =
    first === 0xff && second === 0xfe
      ? 'utf-16le'
      : first === 0xfe && second === 0xff
        ? 'utf-16be'
        : undefined;
  try {
    return new TextDecoder(wide ?? declared, { fatal: true }).decode(xml);
  } catch {
    throw new SldFailure('XML', `The text is not in the encoding ${wide ?? declared}.`);
  }
}
