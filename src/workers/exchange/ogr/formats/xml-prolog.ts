/** Text before the root element of an XML file. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { readFileStart } from '../../../files/start-of-file.js';

/** Number of bytes in the first read, and the maximum. */
const FIRST_BYTES = 4096;
const MAX_BYTES = 1 << 20;
/** White space, processing instructions and comments. */
const BEFORE_ROOT = /(?:\s+|<\?[\s\S]*?\?>|<!--[\s\S]*?-->)*/y;
const BYTE_ORDER_MARK = /^(?:\u00ef\u00bb\u00bf|\u00fe\u00ff|\u00ff\u00fe)/;

/**
 * Fails with `invalid-input` for an XML file with a document type. Drivers drop the references to its entities, or
 * replace them by the text of other files. Other files are accepted.
 */
export async function requireNoDocumentType(path: string): Promise<void> {
  for (const bytes of [FIRST_BYTES, MAX_BYTES]) {
    const start = await readFileStart(path, bytes);
    // Markup is ASCII in all encodings that are read; UTF-16 has zeros between.
    const text = start.toString('latin1').replace(BYTE_ORDER_MARK, '').replaceAll('\0', '');
    const root = parseRoot(text);
    if (root === undefined && start.length === bytes && bytes < MAX_BYTES) continue;
    // The file ends first: drivers report that.
    if (root === undefined && start.length < bytes) return;
    if (root === undefined) throw refused('The prolog of the XML file is too long.');
    if (/^<!(?!--)/.test(root))
      throw refused(
        'XML files with a document type (DOCTYPE) or entities are not supported. Replace the entities by their values.',
      );
    return;
  }
}

/** The text from the root element or document type on; undefined where it is not reached. */
function parseRoot(text: string): string | undefined {
  if (!text.trimStart().startsWith('<')) return '';
  BEFORE_ROOT.lastIndex = 0;
  const root = text.slice(BEFORE_ROOT.exec(text)![0].length, text.length);
  // An unclosed construct, or the end of the read text.
  return root.length < '<!DOCTYPE'.length || /^<(\?|!--)/.test(root) ? undefined : root;
}

const refused = (message: string) => new TaskFailure('invalid-input', message);
