import Type, { type Static, type TInteger, type TObject, type TSchema, type TString } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { formatActor, type Param } from '../../../core/http/operation.js';
import { copyRight } from '../../../services/access/rules/derivations.js';
import type { Registrant } from '../../../services/catalog/rasters/registered-rasters.js';
import type { Services } from '../../admin/deps.js';
import { createRowBuilders, jsonBody, type OperationRow, resource } from '../../admin/kit.js';
import { requireLayers } from '../../admin/layer-rights.js';

const SERVICES = ['access', 'catalog', 'connections', 'rasters', 'rules'] as const;
const { implement } = createRowBuilders(SERVICES);

/** Operations and schemas that all kinds of registered rasters share. */

const describeIdFault = (raw: string) => `must be an integer of at least 1, not '${raw.slice(0, 40)}'`;

const layerIdParam: Param<number> = {
  name: 'layerId',
  in: 'query',
  description: 'Layer whose registrations are listed.',
  required: true,
  schema: Type.Integer({ minimum: 1 }),
  parse(raw) {
    if (raw === undefined) throw badParameter('layerId', 'is required');
    if (!/^[1-9]\d{0,9}$/.test(raw)) throw badParameter('layerId', describeIdFault(raw));
    return Number(raw);
  },
};

/** A 64-bit id. An id that a JavaScript number cannot represent exactly matches nothing. */
export function longId(name: string, noun: string): Param<number> {
  return {
    name,
    in: 'path',
    description: `Id of the ${noun}.`,
    required: true,
    schema: Type.Integer({ minimum: 1, format: 'int64' }),
    parse(raw) {
      if (raw === undefined) throw badParameter(name, 'is required');
      if (!/^[1-9]\d{0,18}$/.test(raw)) throw badParameter(name, describeIdFault(raw));
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

export const nullable = <T extends TInteger | TString>(type: T) => Type.Union([type, Type.Null()]);

/** A registered raster, which belongs to a layer. */
interface LayerRaster {
  readonly layerId: number;
}

/** Registered rasters of one kind. `Request` is the type of a request for a registration. */
interface Registry<Raster extends LayerRaster, Request> {
  list(layerId: number): Promise<Raster[]>;
  register(request: Request, registrant: Registrant): Promise<Raster>;
  get(id: number): Promise<Raster>;
  remove(id: number): Promise<void>;
}

/** Definition of the operations on one kind of registered rasters. */
interface RegistrationOptions<
  Raster extends LayerRaster,
  Request,
  View extends TSchema,
  Body extends TObject,
> {
  path: `/${string}`;
  idParams: { id: Param<number> };
  nouns: { readonly singular: string; readonly plural: string };
  /** Description of the registration. */
  description: string;
  view: View;
  body: Body;
  getRegistry: (deps: Services<'rasters'>) => Registry<Raster, Request>;
  buildRequest: (body: Static<Body>, deps: Services<'connections'>) => Request | Promise<Request>;
  describe(raster: Raster): Static<View>;
}

/** Defines operations that list, register, show and unregister rasters of one kind. */
export function defineRegistrations<
  Raster extends LayerRaster,
  Request,
  View extends TSchema,
  Body extends TObject,
>({
  path,
  idParams,
  nouns: { singular, plural },
  description,
  view,
  body,
  getRegistry,
  buildRequest,
  describe,
}: RegistrationOptions<Raster, Request, View, Body>): OperationRow[] {
  return resource(
    `${path}/{id}`,
    {
      list: `List ${plural}`,
      create: `Register ${singular}`,
      get: `Get ${singular}`,
      remove: `Unregister ${singular}`,
    },
    {
      list: implement({
        params: { layerId: layerIdParam },
        data: Type.Array(view),
        errors: [400, 503],
        answer: async ({ params }, deps) => (await getRegistry(deps).list(params.layerId)).map(describe),
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
          const request = await buildRequest(x.body as Static<Body>, deps);
          const right = copyRight(x.principal, deps.rules.current);
          return describe(await getRegistry(deps).register(request, { right, by: formatActor(x.principal) }));
        },
      }),
      get: implement({
        params: idParams,
        data: view,
        errors: [404, 503],
        answer: async ({ params }, deps) => describe(await getRegistry(deps).get(params.id)),
      }),
      remove: implement({
        params: idParams,
        data: Type.Null(),
        status: 204,
        errors: [404, 503],
        async answer({ params, principal }, deps) {
          const { layerId } = await getRegistry(deps).get(params.id);
          requireLayers([layerId], 'write', principal, deps);
          await getRegistry(deps).remove(params.id);
        },
      }),
    },
  );
}
