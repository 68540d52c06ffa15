import Type, { type Static } from 'typebox';
import { notFound } from '../../../core/errors/errors.js';
import { type Exchange, formatActor } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { Acknowledgement, AcknowledgementSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import {
  MappingBody,
  ProfileBody,
  ProfilePatch,
  RevocationBody,
  ValidationBody,
} from './certificate-bodies.js';
import {
  changedMapping,
  changedProfile,
  newRevocation,
  requireNoOther,
  requireRights,
} from './certificate-changes.js';
import { validateCertificate } from './certificate-validation.js';
import {
  MappingSchema,
  mappingView,
  ProfileSchema,
  profileView,
  RevocationSchema,
  revocationView,
  ValidationSchema,
} from './certificate-views.js';

const SERVICES = ['certificates', 'rules'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { implement, report } = createRowBuilders(SERVICES);

const BASE = '/security/client-certificates/profiles';
const ofProfile = { profileId: pathString('profileId', 'Id of the trust profile.') };
const byMapping = { ...ofProfile, mappingId: pathString('mappingId', 'Id of the mapping.') };
const byRevocation = { ...ofProfile, revocationId: pathString('revocationId', 'Id of the revocation.') };

const profiles = resource(
  `${BASE}/{profileId}`,
  {
    list: 'List Client Certificate Trust Profiles',
    create: 'Create Client Certificate Trust Profile',
    get: 'Get Client Certificate Trust Profile',
    update: 'Update Client Certificate Trust Profile',
    remove: 'Disable Client Certificate Trust Profile',
  },
  {
    list: implement({
      data: Type.Array(ProfileSchema),
      answer: async (_x, { certificates }) => (await certificates.list()).map(profileView),
    }),
    create: implement({
      body: jsonBody(ProfileBody),
      data: ProfileSchema,
      status: 201,
      errors: [400],
      location: ({ profileId }: Static<typeof ProfileSchema>) => `${BASE}/${profileId}`,
      answer: async ({ body, principal }, { certificates }) =>
        profileView(await certificates.create(changedProfile(undefined, body), formatActor(principal))),
    }),
    get: implement({
      params: ofProfile,
      data: ProfileSchema,
      errors: [404],
      answer: async ({ params }, { certificates }) => profileView(await certificates.get(params.profileId)),
    }),
    update: implement({
      description: 'Members that are absent keep their value.',
      params: ofProfile,
      body: jsonBody(ProfilePatch),
      data: ProfileSchema,
      errors: [400, 404, 412],
      async answer(x, deps) {
        const { profileId } = x.params;
        requireRights(x.principal, (await deps.certificates.get(profileId)).mappings, deps);
        const change = (before: Parameters<typeof changedProfile>[0]) => changedProfile(before, x.body);
        return profileView(
          await deps.certificates.update(profileId, formatActor(x.principal), change, readIfMatch(x)),
        );
      },
    }),
    remove: implement({
      description: 'After the response, the server accepts no certificate by this profile.',
      params: ofProfile,
      data: ProfileSchema,
      errors: [404, 412],
      async answer(x, { certificates }) {
        const by = formatActor(x.principal);
        return profileView(await certificates.update(x.params.profileId, by, disable, readIfMatch(x)));
      },
    }),
  },
);

const disable = <T extends object>(before: T) => ({ ...before, enabled: false });

async function currentMapping(
  { params: { profileId, mappingId } }: Exchange<typeof byMapping>,
  { certificates }: Deps,
) {
  const { mappings: all } = await certificates.get(profileId);
  const mapping = all.find(({ id }) => id === mappingId);
  if (!mapping) throw notFound('mapping', mappingId);
  return mappingView(mapping);
}

async function currentRevocation(
  { params: { profileId, revocationId } }: Exchange<typeof byRevocation>,
  { certificates }: Deps,
) {
  const { revocations: all } = await certificates.get(profileId);
  const revocation = all.find(({ body }) => body.revocationId === revocationId);
  if (!revocation) throw notFound('revocation', revocationId);
  return revocationView(revocation);
}

const mappings = resource(
  `${BASE}/{profileId}/mappings/{mappingId}`,
  {
    list: 'List Client Certificate Principal Mappings',
    create: 'Create Client Certificate Principal Mapping',
    update: 'Update Client Certificate Principal Mapping',
    remove: 'Disable Client Certificate Principal Mapping',
  },
  {
    list: implement({
      params: ofProfile,
      data: Type.Array(MappingSchema),
      errors: [404],
      answer: async ({ params }, { certificates }) =>
        (await certificates.get(params.profileId)).mappings.map(mappingView),
    }),
    create: implement({
      params: ofProfile,
      body: jsonBody(MappingBody),
      data: MappingSchema,
      status: 201,
      errors: [400, 404],
      async answer({ params: { profileId }, body, principal }, deps) {
        const whole = await deps.certificates.get(profileId);
        const mapping = changedMapping(undefined, { ...body, profileId });
        requireNoOther(mapping, whole.mappings);
        requireRights(principal, [{ body: mapping }], deps);
        return mappingView(await deps.certificates.addMapping(mapping, formatActor(principal)));
      },
    }),
    update: implement({
      description: 'Members that are absent keep their value.',
      params: byMapping,
      current: currentMapping,
      body: jsonBody(MappingBody),
      data: MappingSchema,
      errors: [400, 404, 412],
      async answer(x, deps) {
        const { profileId, mappingId } = x.params;
        const { mappings: all } = await deps.certificates.get(profileId);
        const change = (before: Parameters<typeof changedMapping>[0]) => {
          const after = changedMapping(before, { ...x.body, profileId });
          requireNoOther(
            after,
            all.filter(({ id }) => id !== mappingId),
          );
          requireRights(x.principal, [...(before ? [{ body: before }] : []), { body: after }], deps);
          return after;
        };
        return mappingView(
          await deps.certificates.changeMapping(x.params, formatActor(x.principal), change, readIfMatch(x)),
        );
      },
    }),
    remove: implement({
      description: 'After the response, the mapping admits no client.',
      params: byMapping,
      current: currentMapping,
      data: MappingSchema,
      errors: [404, 412],
      async answer(x, { certificates }) {
        return mappingView(
          await certificates.changeMapping(x.params, formatActor(x.principal), disable, readIfMatch(x)),
        );
      },
    }),
  },
);

const revocations = resource(
  `${BASE}/{profileId}/revocations/{revocationId}`,
  {
    list: 'List Client Certificate Revocations',
    create: 'Add Client Certificate Revocation',
    remove: 'Remove Client Certificate Revocation',
  },
  {
    list: implement({
      params: ofProfile,
      data: Type.Array(RevocationSchema),
      errors: [404],
      answer: async ({ params }, { certificates }) =>
        (await certificates.get(params.profileId)).revocations.map(revocationView),
    }),
    create: implement({
      description: 'After the response, the server rejects the certificate and has closed its streams.',
      params: ofProfile,
      body: jsonBody(RevocationBody),
      data: RevocationSchema,
      status: 201,
      errors: [400, 404, 409],
      async answer({ params: { profileId }, body, principal }, { certificates }) {
        await certificates.get(profileId);
        const by = formatActor(principal);
        return revocationView(await certificates.revoke(newRevocation(profileId, body, by), by));
      },
    }),
    remove: implement({
      params: byRevocation,
      current: currentRevocation,
      data: AcknowledgementSchema,
      errors: [404, 412],
      async answer(x, deps) {
        const { profileId, revocationId } = x.params;
        requireRights(x.principal, (await deps.certificates.get(profileId)).mappings, deps);
        await deps.certificates.unrevoke(profileId, revocationId, readIfMatch(x));
        return new Acknowledgement('The revocation is removed.');
      },
    }),
  },
);

const ABOUT = { tag: 'Security and admin auth', scope: 'client-certificates', envelope: 'wrapped' } as const;
const TAG_NOTE = 'The entity tag is the one that If-Match names to change it.';

/** Trust in client certificates. */
export const clientCertificates = group(ABOUT, [
  ...profiles,
  ...mappings,
  ...revocations,
  report('POST /security/client-certificates/validate', 'Validate Client Certificate', {
    description: 'Judges a certificate as a request with it would be judged now.',
    body: jsonBody(ValidationBody),
    data: ValidationSchema,
    errors: [400],
    answer: ({ body }, deps) => validateCertificate(body, deps),
  }),
]);

/** Beyond the contract: mappings and revocations can be read one by one. */
export const certificateParts = group(ABOUT, [
  ...resource(
    `${BASE}/{profileId}/mappings/{mappingId}`,
    { get: 'Get Client Certificate Principal Mapping' },
    {
      get: implement({
        description: TAG_NOTE,
        params: byMapping,
        data: MappingSchema,
        errors: [404],
        answer: currentMapping,
      }),
    },
  ),
  ...resource(
    `${BASE}/{profileId}/revocations/{revocationId}`,
    { get: 'Get Client Certificate Revocation' },
    {
      get: implement({
        description: TAG_NOTE,
        params: byRevocation,
        data: RevocationSchema,
        errors: [404],
        answer: currentRevocation,
      }),
    },
  ),
]);
