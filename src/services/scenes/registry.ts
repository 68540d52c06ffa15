import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { SCENE_LIMITS } from '../../core/scenes/limits.js';
import type { LiveScene, SceneDataset, SceneSettings } from '../../core/scenes/scenes.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';

/** Kinds of documents in the state. The second one leads from the id in URLs to the scene. */
const SCENE = 'scene';
const NAME = 'scene name';

export type StoredScene = StoredDocument<SceneDataset>;

/** Result of the validation of a tileset: undefined if it is valid, otherwise the reason. */
type Validation = string | undefined;

export interface SceneRegistryDeps {
  readonly documents: DocumentStore;
  /** Reads the tileset of a scene, and returns what is wrong with it. Throws `invalid-body` for a folder that is not allowed. */
  validate(settings: Pick<SceneSettings, 'assetRoot' | 'tilesetFileName'>): Promise<Validation>;
}

/** Scenes by number and by the id in URLs. An inactive scene keeps its number, and its id can be used again. */
export class SceneRegistry {
  constructor(private readonly deps: SceneRegistryDeps) {}

  /** In the order of creation. */
  async list({ includeInactive }: { includeInactive: boolean }): Promise<StoredScene[]> {
    const scenes = await this.deps.documents.list<SceneDataset>(SCENE);
    return includeInactive ? scenes : scenes.filter(({ body }) => body.status !== 'inactive');
  }

  /** Throws `not-found`. */
  async read(datasetId: string): Promise<StoredScene> {
    const scene = await this.deps.documents.get<SceneDataset>(SCENE, datasetId);
    if (!scene) throw notFound('scene', datasetId);
    return scene;
  }

  /** The active scene with an id. Undefined without one. */
  async findActive(id: string): Promise<StoredScene | undefined> {
    const { documents } = this.deps;
    const name = await documents.get<{ datasetId: string }>(NAME, id);
    const scene = name && (await documents.get<SceneDataset>(SCENE, name.body.datasetId));
    return scene?.body.status === 'active' ? scene : undefined;
  }

  /** Throws `conflict` if the id is taken. */
  async register(id: string, settings: SceneSettings, by: string): Promise<StoredScene> {
    const problem = await this.deps.validate(settings);
    return this.#create({ ...settings, ...toStatus(problem), id, revision: 1 }, by);
  }

  /** Creates a scene from a layer. Throws `conflict` if the id is taken. */
  createLive(id: string, settings: SceneSettings, live: LiveScene, by: string): Promise<StoredScene> {
    return this.#create({ ...settings, ...toStatus(undefined), id, revision: 1, live }, by);
  }

  /** Throws `not-found`, `conflict` for an inactive scene, and `precondition-failed`. */
  async update(
    datasetId: string,
    change: (before: SceneDataset) => SceneSettings,
    { by, ifMatch }: { by: string; ifMatch: readonly string[] | undefined },
  ): Promise<StoredScene> {
    const { documents, validate } = this.deps;
    const before = await this.read(datasetId);
    const settings = change(before.body);
    const problem = before.body.live ? undefined : await validate(settings);
    return documents.update<SceneDataset>(
      SCENE,
      datasetId,
      by,
      (stored) => {
        requireActive(stored);
        return { ...stored, ...change(stored), ...toStatus(problem), revision: stored.revision + 1 };
      },
      ifMatch,
    );
  }

  /** Makes a scene inactive: its files are not served any more. Throws `not-found`. */
  async deactivate(datasetId: string, by: string, ifMatch: readonly string[] | undefined): Promise<void> {
    const { documents } = this.deps;
    await this.read(datasetId);
    await documents.together([SCENE], async (store) => {
      const change = (stored: SceneDataset): SceneDataset => ({
        ...stored,
        status: 'inactive',
        revision: stored.status === 'inactive' ? stored.revision : stored.revision + 1,
      });
      const { body } = await store.update<SceneDataset>(SCENE, datasetId, by, change, ifMatch);
      const name = await store.get<{ datasetId: string }>(NAME, body.id);
      if (name?.body.datasetId === datasetId) await store.remove(NAME, body.id);
    });
  }

  #create(scene: SceneDataset, by: string): Promise<StoredScene> {
    return this.deps.documents.together([SCENE], async (store) => {
      if ((await store.get(NAME, scene.id)) !== undefined)
        throw new ApiError('conflict', `id: there is already a scene '${scene.id}'. Choose another id.`);
      const scenes = await store.list(SCENE);
      if (scenes.length >= SCENE_LIMITS.scenes)
        throw new ApiError('conflict', `The server has ${SCENE_LIMITS.scenes} scenes, which is the maximum.`);
      const datasetId = randomUUID();
      await store.create(NAME, scene.id, { datasetId }, by);
      return store.create(SCENE, datasetId, scene, by);
    });
  }
}

const toStatus = (problem: Validation): Pick<SceneDataset, 'status' | 'validationMessage'> =>
  problem === undefined
    ? { status: 'active', validationMessage: null }
    : { status: 'validation_failed', validationMessage: problem };

function requireActive({ status, id }: SceneDataset): void {
  if (status !== 'inactive') return;
  throw new ApiError('conflict', `The scene '${id}' is inactive and cannot change. Register it again.`);
}
