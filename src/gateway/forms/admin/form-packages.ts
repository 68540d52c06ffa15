import { randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import { badMember } from '../../../core/errors/errors.js';
import { FormDraftSchema } from '../../../core/forms/form-document.js';
import { type Exchange, formatActor, type Reply } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { describeFormLayer } from '../../../services/forms/form-layer.js';
import { InvalidForm } from '../../../services/forms/form-packages.js';
import { generateForm } from '../../../services/forms/generate.js';
import { readIfMatch } from '../../admin/conditional.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { idParam } from '../../admin/params.js';
import {
  FormSchema,
  FormSummarySchema,
  FormValidationSchema,
  FormVersionSchema,
  type VersionView,
  viewHead,
  viewValidation,
  viewVersion,
} from './form-schemas.js';

const SERVICES = ['forms', 'visible'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report, implement } = createRowBuilders(SERVICES);

const byForm = { formId: pathString('formId', 'Id of the form.') };
const byVersion = {
  ...byForm,
  packageVersion: idParam('packageVersion', 'Number of the version, from 1.'),
};
const formBody = jsonBody(FormDraftSchema);
const VERSION_PATH = '/forms/packages/{formId}/versions/{packageVersion}';

const S = Type.String();
const GenerateBody = Type.Object({
  prompt: Type.String({ minLength: 1, maxLength: 10_000 }),
  provider: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
  model: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
  package: Type.Optional(Type.Union([FormDraftSchema, Type.Null()])),
  conversation: Type.Optional(
    Type.Array(
      Type.Object({ role: Type.String({ maxLength: 50 }), content: Type.String({ maxLength: 10_000 }) }),
      {
        maxItems: 100,
      },
    ),
  ),
  answers: Type.Optional(
    Type.Array(
      Type.Object({ questionId: Type.String({ maxLength: 100 }), optionId: Type.String({ maxLength: 100 }) }),
      {
        maxItems: 100,
      },
    ),
  ),
});

const GeneratedSchema = Type.Object({
  status: Type.Enum(['generated', 'needs-clarification']),
  package: Type.Union([FormSchema, Type.Null()]),
  rationale: S,
  clarifications: Type.Array(
    Type.Object({
      id: S,
      kind: S,
      prompt: S,
      reason: S,
      choices: Type.Array(Type.Object({ id: S, label: S, effect: S })),
    }),
  ),
  validation: Type.Union([FormValidationSchema, Type.Null()]),
  unmappedRequests: Type.Array(S),
  capabilityState: Type.Object({ name: S, state: Type.Enum(['available', 'unavailable']), reason: S }),
  provider: Type.Null(),
  model: Type.Null(),
});

/** Form packages for data collection. */
export const formPackages = group({ tag: 'Forms', scope: 'forms', envelope: 'raw' }, [
  ...resource(
    '/forms/packages/{formId}',
    {
      list: 'List Form Packages',
      create: 'Create Form Package Draft',
      get: 'Get Current Form Package',
    },
    {
      list: implement({
        description: 'The oldest first.',
        data: Type.Array(FormSummarySchema),
        answer: async (_, { forms }) => (await forms.list()).map(viewHead),
      }),
      create: implement({
        description:
          'Creates a form with its version 1, which is a draft. Absent members have their defaults.',
        body: formBody,
        data: FormVersionSchema,
        status: 201,
        errors: [400, 409],
        location: ({ formId, version }: VersionView) => `/forms/packages/${formId}/versions/${version}`,
        async answer({ body, principal }, { forms }) {
          const formId = body.formId ?? createFormId();
          return view(await forms.create(body, formId, formatActor(principal)), forms);
        },
      }),
      get: implement({
        description: 'The published version, or the draft if no version is published.',
        params: byForm,
        data: FormVersionSchema,
        errors: [404],
        answer: async ({ params }, { forms }) => view(await forms.readCurrent(params.formId), forms),
      }),
    },
  ),
  action('POST /forms/packages/generate', 'Generate Form Package', {
    description:
      'Makes a form from the columns of the layer that `package.target` or `answers` names. No form is stored. The server has no language model, so it does not read the prompt.',
    body: jsonBody(GenerateBody),
    data: GeneratedSchema,
    errors: [400],
    answer: generate,
  }),
  ...resource(
    VERSION_PATH,
    {
      list: 'List Form Package Versions',
      get: 'Get Form Package Version',
      update: 'Update Form Package Draft',
    },
    {
      list: implement({
        description: 'The oldest first.',
        params: byForm,
        data: Type.Array(FormVersionSchema),
        errors: [404],
        answer: async ({ params }, { forms }) =>
          (await forms.listVersions(params.formId)).map((version) => view(version, forms)),
      }),
      get: implement({
        params: byVersion,
        data: FormVersionSchema,
        errors: [404],
        answer: async ({ params }, { forms }) =>
          view(await forms.readVersion(params.formId, params.packageVersion), forms),
      }),
      update: implement({
        description: 'Replaces a draft. Other versions cannot change.',
        params: byVersion,
        body: formBody,
        data: FormVersionSchema,
        errors: [400, 404],
        requiresIfMatch: true,
        async answer(x, { forms }) {
          const { formId, packageVersion } = x.params;
          if (x.body.formId && x.body.formId !== formId)
            throw badMember('formId', `must be the id of the path, '${formId}'`);
          const change = { by: formatActor(x.principal), ifMatch: readIfMatch(x) };
          return view(await forms.update(formId, packageVersion, x.body, change), forms);
        },
      }),
    },
  ),
  report(`POST ${VERSION_PATH}/validate`, 'Validate Form Package Version', {
    description: 'Compares the form with the current columns of its layer.',
    params: byVersion,
    data: FormValidationSchema,
    errors: [404],
    async answer({ params }, { forms }) {
      const { body } = await forms.readVersion(params.formId, params.packageVersion);
      return viewValidation(forms.findIssues(body.form));
    },
  }),
  action(`POST ${VERSION_PATH}/publish`, 'Publish Form Package Version', {
    description:
      'Publishes a draft without errors. The version that was published becomes archived. The response 400 has the errors.',
    params: byVersion,
    responses: {
      200: { description: 'Published.', content: { 'application/json': FormVersionSchema } },
      400: { description: 'The form has errors.', content: { 'application/json': FormValidationSchema } },
      ...errorDocs([404, 409]),
    },
    shownBy: VERSION_PATH,
    reply: publish,
  }),
  action(`POST ${VERSION_PATH}/reopen`, 'Reopen Form Package Version', {
    description: 'Copies a version to a new draft. A form has at most one draft.',
    params: byVersion,
    data: FormVersionSchema,
    errors: [404, 409],
    answer: async ({ params, principal }, { forms }) =>
      view(await forms.reopen(params.formId, params.packageVersion, formatActor(principal)), forms),
  }),
]);

const createFormId = () => `form-${randomUUID().slice(0, 8)}`;

const view = (version: Parameters<typeof viewVersion>[0], forms: Deps['forms']) =>
  viewVersion(version, (form) => forms.findIssues(form));

async function publish({ params, principal }: Exchange<typeof byVersion>, { forms }: Deps): Promise<Reply> {
  const reply = (status: number, body: unknown) => ({
    ...{ status, mediaType: 'application/json', body: stringifyExactly(body) },
  });
  try {
    const published = await forms.publish(params.formId, params.packageVersion, formatActor(principal));
    return { ...reply(200, view(published, forms)), etag: published.etag };
  } catch (error) {
    if (error instanceof InvalidForm) return reply(400, viewValidation(error.issues));
    throw error;
  }
}

function generate(
  { body, principal }: Exchange<Record<never, never>, Static<typeof GenerateBody>>,
  { forms, visible }: Deps,
) {
  const layers = visible(principal).collections.filter(hasFeatures);
  const answer = body.answers?.find(({ questionId }) => questionId === 'layer')?.optionId;
  const layerId = answer === undefined ? body.package?.target.layerId : Number(answer);
  const layer = layers.find((one) => one.layerId === layerId);
  const common = {
    unmappedRequests: [body.prompt],
    capabilityState: {
      name: 'prompt',
      state: 'unavailable' as const,
      reason: 'The server has no language model. The form has the columns of the layer.',
    },
    ...{ provider: null, model: null },
  };
  if (answer !== undefined && !layer)
    throw badMember('answers', `must name a layer with features as the option of 'layer', not '${answer}'`);
  if (!layer) {
    const choices = layers.filter(({ source }) => source.writable);
    return {
      ...{ status: 'needs-clarification', package: null, validation: null },
      rationale: 'A form collects data for one layer.',
      clarifications: [
        {
          ...{ id: 'layer', kind: 'layer', prompt: 'Which layer does the form collect data for?' },
          reason: 'package.target.layerId names no layer with features.',
          choices: choices.slice(0, 500).map(({ id, layerId: number, title }) => ({
            ...{ id: String(number), label: title, effect: `The form has the columns of '${id}'.` },
          })),
        },
      ],
      ...common,
    };
  }
  const target = { serviceId: body.package?.target.serviceId ?? null, layerId: layer.layerId };
  const formId = body.package?.formId ?? createFormId();
  const { form, unanswered } = generateForm(describeFormLayer(layer), { ...body.package, target }, formId);
  return {
    status: 'generated',
    package: form,
    rationale: [
      `The form asks for the columns of the layer '${layer.id}'.`,
      ...unanswered.map(({ column, reason }) => `It does not ask for '${column}'. ${reason}`),
    ].join(' '),
    clarifications: [],
    validation: viewValidation(forms.findIssues(form)),
    ...common,
  };
}
