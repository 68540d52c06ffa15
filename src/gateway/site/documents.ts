import type { Collection } from '../../core/catalog/collection.js';
import type { Surface } from '../../core/http/operation.js';
import { whereabouts } from '../pages/catalog/collections.js';
import type { SurfaceEntry } from '../pages/catalog/home.js';
import type { PageLink } from '../pages/links.js';
import type { InterfaceDocument } from '../pages/reference/documents.js';

/** The interfaces that describe themselves in an OpenAPI document, and where each is. */
const INTERFACE_DOCUMENTS: readonly InterfaceDocument[] = [
  {
    surface: 'features',
    title: 'Features',
    description: 'OGC API Features: vector data, feature by feature.',
    openapi: '/ogc/features/api',
  },
  {
    surface: 'tiles',
    title: 'Tiles',
    description: 'OGC API Tiles: vector and image tiles.',
    openapi: '/ogc/tiles/openapi.json',
  },
  {
    surface: 'maps',
    title: 'Maps',
    description: 'OGC API Maps: rendered map images.',
    openapi: '/ogc/maps/openapi.json',
  },
  {
    surface: 'coverages',
    title: 'Coverages',
    description: 'OGC API Coverages: the values of rasters.',
    openapi: '/ogc/coverages/openapi.json',
  },
  {
    surface: 'processes',
    title: 'Processes',
    description: 'OGC API Processes: geoprocessing as jobs. Needs a key.',
    openapi: '/ogc/processes/openapi.json',
  },
  {
    surface: 'stac',
    title: 'STAC',
    description: 'SpatioTemporal Asset Catalog of all published data.',
    openapi: '/stac/openapi.json',
  },
  {
    surface: 'admin',
    title: 'Management',
    description: 'Management API: configuration, keys, imports, jobs. Needs an administrator key.',
    openapi: '/api/v1/admin/openapi.json',
  },
];

/** API of the reference. Its operations have these surfaces. */
export interface ReferenceEntry extends InterfaceDocument {
  readonly surfaces: readonly Surface[];
}

/** The APIs in the reference. GeoServices and streams publish no OpenAPI document. */
export const REFERENCE_DOCUMENTS: readonly ReferenceEntry[] = [
  ...INTERFACE_DOCUMENTS.map((document) => ({
    ...document,
    surfaces: document.surface === 'maps' ? (['maps', 'styles'] as const) : [document.surface as Surface],
  })),
  {
    surface: 'geoservices',
    title: 'GeoServices',
    description:
      'GeoServices REST: feature, map, image, vector tile, geocode, geometry and process services.',
    surfaces: ['geoservices'],
  },
  {
    surface: 'streaming',
    title: 'Streams',
    description: 'Changes of features as they happen.',
    surfaces: ['streaming'],
  },
];

/** The interfaces that the start page lists. */
export const SURFACES: readonly SurfaceEntry[] = [
  ...INTERFACE_DOCUMENTS.filter(({ surface }) => surface !== 'stac' && surface !== 'admin').map(
    ({ surface, title, description }) => ({ title, description, path: `/ogc/${surface}` }),
  ),
  { title: 'STAC', description: 'SpatioTemporal Asset Catalog of all published data.', path: '/stac' },
  { title: 'API reference', description: 'Every operation, to read and to try out.', path: '/docs' },
];

/** JSON representation of the start page. */
export interface HomeDocument {
  title: string;
  version: string;
  links: PageLink[];
  surfaces: { title: string; description: string; links: PageLink[] }[];
  collections: {
    id: string;
    layerId: number;
    title: string;
    kind: string;
    extent?: readonly number[];
    links: PageLink[];
  }[];
}

export function homeLinks(baseUrl: string): PageLink[] {
  return [
    { href: `${baseUrl}/?f=html`, rel: 'self', type: 'text/html', title: 'This page' },
    { href: `${baseUrl}/?f=json`, rel: 'alternate', type: 'application/json', title: 'This page as JSON' },
    { href: `${baseUrl}/docs`, rel: 'service-doc', type: 'text/html', title: 'API reference' },
  ];
}

export function homeDocument(
  collections: readonly Collection[],
  surfaces: readonly SurfaceEntry[],
  version: string,
  baseUrl: string,
): HomeDocument {
  return {
    title: 'Graticule',
    version,
    links: [
      { href: `${baseUrl}/?f=json`, rel: 'self', type: 'application/json', title: 'This document' },
      { href: `${baseUrl}/?f=html`, rel: 'alternate', type: 'text/html', title: 'This document as HTML' },
      { href: `${baseUrl}/docs`, rel: 'service-doc', type: 'text/html', title: 'API reference' },
    ],
    surfaces: surfaces.map(({ title, path, description }) => ({
      title,
      description,
      links: [{ href: `${baseUrl}${path}`, rel: 'item', type: 'application/json', title }],
    })),
    collections: collections.map((collection) => {
      const { href, links } = whereabouts(collection, baseUrl);
      const { id, layerId, title, kind, extent84 } = collection;
      const own: PageLink = { href, rel: 'collection', type: 'application/json', title };
      return { id, layerId, title, kind, ...(extent84 ? { extent: extent84 } : {}), links: [own, ...links] };
    }),
  };
}
