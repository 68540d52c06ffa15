import { isLayerNumber } from '../../core/access/access.js';

/** Id of a collection with a name. An id of only digits would be a layer number. */
export function createCollectionId(name: string): string {
  const plain = slug(name);
  return isLayerNumber(plain) ? `data-${plain}` : plain;
}

/** Lower-case letters, digits, - and _ ; safe in a path and stable. */
export function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64);
  return plain || 'layer';
}
