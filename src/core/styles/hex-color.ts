/** `#rrggbb` of three bytes. */
export const hexColor = (bytes: readonly number[]): string =>
  `#${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
