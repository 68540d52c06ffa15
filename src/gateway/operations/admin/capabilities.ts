import Type from 'typebox';
import { TimestampSchema } from '../../admin/envelope.js';
import { BASE_PATH, createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['server'] as const;
const { report } = createRowBuilders(SERVICES);

/** Version of the control plane's interface: clients refuse another major. */
const CONTROL_PLANE_MAJOR = 1;

const Version = Type.Object({
  version: Type.String(),
  metadataApiVersion: Type.String(),
  serverTime: TimestampSchema,
});

const Flag = Type.Boolean();
const Capabilities = Type.Object({
  metadataApiVersions: Type.Array(Type.String()),
  resourceKinds: Type.Array(Type.Enum(['Service', 'Layer', 'Relationship', 'Style', 'Connection'])),
  manifestSupported: Flag,
  manifestDryRunSupported: Flag,
  manifestPruneSupported: Flag,
  compatibility: Type.Object({
    serverVersion: Type.String(),
    releaseChannel: Type.Enum(['stable', 'lts', 'preview', 'alpha', 'beta', 'rc', 'nightly', 'dev']),
    controlPlaneApi: Type.Object({ major: Type.Integer(), basePath: Type.String(), deprecated: Flag }),
    metadataSchemas: Type.Array(Type.Object({ version: Type.String(), deprecated: Flag })),
    features: Type.Object({
      metadataResources: Flag,
      manifestExport: Flag,
      manifestApply: Flag,
      manifestDryRun: Flag,
      manifestPrune: Flag,
    }),
  }),
});

/** Data that clients check before they use the API. */
export const capabilities = group(
  { tag: 'Metadata and capabilities', scope: 'capabilities', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /capabilities', 'Get Admin Capabilities', {
      data: Capabilities,
      answer: (_x, { server }) => ({
        // Metadata resources are not supported, and manifests have Graticule's own form
        // (docs/how-to/operate/manifest.md), so there are no versions and no kinds.
        metadataApiVersions: [],
        resourceKinds: [],
        manifestSupported: false,
        manifestDryRunSupported: false,
        manifestPruneSupported: false,
        compatibility: {
          serverVersion: server.version,
          releaseChannel: server.releaseChannel,
          controlPlaneApi: { major: CONTROL_PLANE_MAJOR, basePath: BASE_PATH, deprecated: false },
          metadataSchemas: [],
          features: {
            metadataResources: false,
            manifestExport: false,
            manifestApply: false,
            manifestDryRun: false,
            manifestPrune: false,
          },
        },
      }),
    }),
    report('GET /version', 'Get Admin Version Info', {
      data: Version,
      answer: (_x, { server }) => ({
        version: server.version,
        metadataApiVersion: `v${CONTROL_PLANE_MAJOR}`,
        serverTime: new Date().toISOString(),
      }),
    }),
  ],
);
