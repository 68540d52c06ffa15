import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { formatActor, type Param } from '../../../core/http/operation.js';
import { copyRight } from '../../../services/access/rules/derivations.js';
import type { Registrant } from '../../../services/catalog/rasters/registered-rasters.js';
import type { Services } from '../../admin/deps.js';
import { createRowBuilders, jsonBody, type OperationRow, resource } from '../../admin/kit.js';
import { requireLayers } from '../../admin/layer-rights.js';

const SERVICES = ['access', 'catalog', 'connections', 'rasters', 'rules'] as const;
const { implement } = createRowBuilders(SERVICES);

/** Definitions that the groups of registered rasters share. */

const layerIdOf: Param<number> = {
  name: 'layerId',
  in: 'query',
  description: 'Layer whose registrations are listed.',
  required: true,
  schema: Type.Integer({ minimum: 1 }),
  parse(raw) {
    if (raw === undefined) throw badParameter('layerId', 'is required');
    if (!/^\d{1,10}$/.test(raw)) throw badParameter('layerId', 'must be an integer of at least 0');
    return Number(raw);
  },
};

/** A 64-bit id. An id that a JavaScript number cannot represent exactly matches nothing. */
export function longId(name: string, what: string): Param<number> {
  return {
    name,
    in: 'path',
    description: `Id of the ${what}.`,
    required: true,
    schema: Type.Integer({ minimum: 1, format: 'int64' }),
    parse(raw) {
      if (raw === undefined || !/^\d{1,19}$/.test(raw))
        throw badParameter(name, 'must be an integer of at least 0');
      return Math.min(Number(raw), Number.MAX_SAFE_INTEGER);
    },
  };
}

/** Members that every registration of an object has. */
export const REGISTRATION = {
  layerId: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: Type.Optional(Type.String({ maxLength: 4000 })),
  bucket: Type.String({ minLength: 1, maxLength: 256 }),
  createLayer: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether the server creates a missing layer.' }),
  ),
};

export const nullable = <T extends ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>(
  type: T,
) => Type.Union([type, Type.Null()]);

/** A registered raster belongs to a layer. */
interface LayerRaster {
  readonly layerId: number;
}

/** One kind of registered rasters: `Of` is the type of a registration request, `Raster` the stored type. */
interface Registry<Raster extends LayerRaster, Of> {
  list(layerId: number): Promise<Raster[]>;
  register(request: Of, registrant: Registrant): Promise<Raster>;
  get(id: number): Promise<Raster>;
  remove(id: number): Promise<void>;
}

export interface Registrations<Raster extends LayerRaster, Of, View extends TSchema, Body extends TObject> {
  path: `/${string}`;
  byId: { id: Param<number> };
  titles: readonly [one: string, many: string];
  /** Description of the registration. */
  description: string;
  view: View;
  body: Body;
  of: (deps: Services<'rasters'>) => Registry<Raster, Of>;
  registrationOf: (body: Static<Body>, deps: Services<'connections'>) => Of | Promise<Of>;
  describe(raster: Raster): Static<View>;
}

/** Lists, registers, shows and unregisters rasters of one kind. */
export function registrations<Raster extends LayerRaster, Of, View extends TSchema, Body extends TObject>({
  path,
  byId,
  titles: [one, many],
  description,
  view,
  body,
  of,
  registrationOf,
  describe,
}: Registrations<Raster, Of, View, Body>): OperationRow[] {
  return resource(
    `${path}/{id}`,
    { list: `List ${many}`, create: `Register ${one}`, get: `Get ${one}`, remove: `Unregister ${one}` },
    {
      list: implement({
        params: { layerId: layerIdOf },
        data: Type.Array(view),
        errors: [400, 503],
        answer: async ({ params }, deps) => (await of(deps).list(params.layerId)).map(describe),
      }),
      create: implement({
        description,
        body: jsonBody(body),
        data: view,
        status: 201,
        errors: [400, 404, 409, 503],
        location: ({ id }: { id: number }) => `${path}/${id}`,
        answer: async (x, deps) => {
          const { layerId } = x.body as { layerId: number };
          requireLayers([layerId], 'write', x.principal, deps);
          const request = await registrationOf(x.body as Static<Body>, deps);
          const right = copyRight(x.principal, deps.rules.current);
          return describe(await of(deps).register(request, { right, by: formatActor(x.principal) }));
        },
      }),
      get: implement({
        params: byId,
        data: view,
        errors: [404, 503],
        answer: async ({ params }, deps) => describe(await of(deps).get(params.id)),
      }),
      remove: implement({
        params: byId,
        data: Type.Null(),
        status: 204,
        errors: [404, 503],
        async answer({ params, principal }, deps) {
          const { layerId } = await of(deps).get(params.id);
          requireLayers([layerId], 'write', principal, deps);
          await of(deps).remove(params.id);
        },
      }),
    },
  );
}
