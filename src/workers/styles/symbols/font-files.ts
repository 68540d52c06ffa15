import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  allFaces,
  DEFAULT_TEXT_FONT,
  type FontFace,
  isBuiltFace,
  listFontFaces,
} from '../../../core/styles/fonts.js';

const require = createRequire(import.meta.url);
const folders = new Map<string, string>();
const BUILT_FONTS = fileURLToPath(new URL('../../../../dist/fonts', import.meta.url));

/** Path of a face's file. The file of a system package may not be there. */
export function fontPath(face: FontFace): string {
  const { file } = face;
  if (isAbsolute(file)) return file;
  if (isBuiltFace(face)) return join(BUILT_FONTS, basename(file));
  const [scope, name, ...rest] = file.split('/');
  return join(packageFolder(`${scope}/${name}`), ...rest);
}

function packageFolder(name: string): string {
  let folder = folders.get(name);
  if (folder === undefined) {
    folder = dirname(require.resolve(`${name}/package.json`));
    folders.set(name, folder);
  }
  return folder;
}

const isThere = new Map<string, boolean>();

/** Whether the face's file is installed on this machine. The result is cached. */
export function isInstalled(face: FontFace): boolean {
  let there = isThere.get(face.name);
  if (there === undefined) {
    there = existsSync(fontPath(face));
    isThere.set(face.name, there);
  }
  return there;
}

/** The files of every face that is here, for `mapnik.registerFonts`. */
export function fontFiles(): string[] {
  return allFaces().filter(isInstalled).map(fontPath);
}

/** Names of the faces of a `text-font` for the FontSet of a Mapnik map, which tries them one after the other. */
export function mapnikFaces(textFont: readonly string[]): string[] {
  const faces = listFontFaces(textFont);
  return (faces.length > 0 ? faces : listFontFaces(DEFAULT_TEXT_FONT))
    .filter(isInstalled)
    .map(({ name }) => name);
}
