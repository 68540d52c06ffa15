import type { StyleResources } from './compiled-style.js';

const DEFAULT_FACES = ['DejaVu Sans Book'];

/** The fonts and icons of this machine. */
export const STYLE_RESOURCES: StyleResources = {
  facesOf: () => DEFAULT_FACES,
  icons: { file: () => undefined },
};
