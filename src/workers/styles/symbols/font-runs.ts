import { type FontFace, hasCodePoints, listFontFaces } from '../../../core/styles/fonts.js';
import { isInstalled } from './font-files.js';

const FACES = listFontFaces(['Noto Sans Regular']);

/** Font of texts in PDF documents. */
export const PAGE_FONT = FACES[0]!;

/** Part of a text in one font. */
interface FontRun {
  readonly face: FontFace;
  text: string;
}

/** Divides a text into parts, each in the first font that contains its characters. */
export function divideByFont(text: string): FontRun[] {
  const runs: FontRun[] = [];
  for (const char of text) {
    const code = char.codePointAt(0)!;
    const own = FACES.find((face) => face.blocks && hasCodePoints(face, code, code) && isInstalled(face));
    const face = own ?? PAGE_FONT;
    const last = runs.at(-1);
    if (last?.face === face) last.text += char;
    else runs.push({ face, text: char });
  }
  return runs;
}
