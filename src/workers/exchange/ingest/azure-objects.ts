import type { RemoteReason } from '../../../core/errors/remote-problems.js';
import type { ListedObject, ListObjectsTask, ObjectPage } from '../../../core/sources/object-stores.js';
import { plainText } from '../../../core/values/percent.js';
import {
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  type XmlNode,
} from '../../files/xml.js';

/** Pages of a container of Azure (List Blobs). */

export function azureQuery({ prefix, cursor, limit }: ListObjectsTask): Record<string, string> {
  return {
    restype: 'container',
    comp: 'list',
    maxresults: String(limit),
    ...(prefix === '' ? {} : { prefix }),
    ...(cursor === undefined ? {} : { marker: cursor }),
  };
}

export function azurePage(root: XmlNode): ObjectPage {
  const objects = listXmlChildren(getXmlChild(root, 'Blobs'), 'Blob').flatMap((node): ListedObject[] => {
    const name = findXmlText(node, 'Name');
    const bytes = Number(findXmlText(node, 'Properties', 'Content-Length'));
    if (name === undefined || !Number.isSafeInteger(bytes)) return [];
    const isEncoded = findXmlAttribute(getXmlChild(node, 'Name'), 'Encoded') === 'true';
    return [
      {
        key: isEncoded ? plainText(name) : name,
        bytes,
        modified: parseHttpDate(findXmlText(node, 'Properties', 'Last-Modified')),
      },
    ];
  });
  const next = findXmlText(root, 'NextMarker');
  return { objects, ...(next ? { next } : {}) };
}

export function parseHttpDate(text: string | undefined): string | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

export const AZURE_CODES: Readonly<Record<string, RemoteReason>> = {
  AuthenticationFailed: 'password',
  InvalidAuthenticationInfo: 'password',
  NoAuthenticationInformation: 'password',
  AuthorizationFailure: 'rights',
  AuthorizationPermissionMismatch: 'rights',
  InsufficientAccountPermissions: 'rights',
  AccountIsDisabled: 'rights',
  ContainerNotFound: 'bucket-missing',
};
