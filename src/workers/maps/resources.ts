import mapnik from '@mapnik/mapnik';
import { fontFiles, mapnikFaces } from '../styles/symbols/font-files.js';
import type { StyleResources } from './compiled-style.js';
import { IconFiles } from './icons.js';

/** Reading all font files takes a while: the first label pays for it. */
let registered = false;

/** The fonts and icons of this machine. */
export const STYLE_RESOURCES: StyleResources = {
  facesOf(stack) {
    if (!registered) for (const file of fontFiles()) mapnik.registerFonts(file);
    registered = true;
    return mapnikFaces(stack);
  },
  icons: new IconFiles(),
};
