import type MiniSearch from 'minisearch';
import type { Options } from 'minisearch';

/** A section of a page, or a row of a table. `page` and `name` are the URL of the page in the manual and its title. */
export interface Section {
  /** URL in the manual, with the fragment. */
  id: string;
  page: string;
  /** Title of the page, and the heading after it. */
  name: string;
  /** The first words of the section. */
  excerpt: string;
  weight: number;
}

export declare const INDEX_OPTIONS: Options<Section>;
export declare function searchIndex(index: MiniSearch<Section>, query: string): Section[];
