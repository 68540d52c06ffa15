import type { Box } from '../geometry/box.js';
import type { VectorSource } from '../sources/vector-source.js';

/** Name of the store of federated sources. */
export const FEDERATED_STORE = 'federated';

export const FEDERATED_KINDS = ['OgcFeatures', 'EsriRest'] as const;
export type FederatedKind = (typeof FEDERATED_KINDS)[number];

/** A layer of another server, as the configuration names it. */
export interface FederatedSetting {
  readonly id: string;
  readonly kind: FederatedKind;
  /** Landing page, or FeatureServer or MapServer. */
  readonly url: string;
  /** Id of the collection, or number of the layer. */
  readonly layer: string;
  readonly enabled: boolean;
  readonly timeoutSeconds: number;
}

/** Whether a source can do a part of a query, with the member of its documents that says so. */
export interface FederatedAbility {
  readonly pushedDown: boolean;
  readonly reason: string;
}

/** Abilities of a source, as its own documents declare them. */
export interface FederatedAbilities {
  readonly attributes: FederatedAbility & {
    /** CQL2 operators that the source evaluates. */
    readonly operators: readonly string[];
    /** Names of the fields that it compares. */
    readonly fields: readonly string[];
    /** Whether a pattern can escape its wildcards. */
    readonly hasEscapes: boolean;
  };
  readonly spatial: FederatedAbility;
  readonly temporal: FederatedAbility;
  readonly order: FederatedAbility;
  readonly paging: FederatedAbility;
}

/** Location of a federated layer, and facts for requests. */
interface FederatedAccess {
  readonly id: string;
  readonly kind: FederatedKind;
  /** URL of the items or of the layer. */
  readonly url: string;
  readonly layer: string;
  readonly timeoutMs: number;
  /** Maximum number of features in a response. */
  readonly pageSize: number;
  readonly abilities: FederatedAbilities;
  /** Extent in CRS84, as the source states it. */
  readonly extent?: Box;
}

/** A layer of another server that is queried there. Its data is in CRS84. */
export interface FederatedSource extends VectorSource {
  readonly federation: FederatedAccess;
}

/** The name under which a federated source is read and listed. */
export const formatFederatedName = (id: string): string => `federation:${id}`;
