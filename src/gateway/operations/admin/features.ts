import Type, { type Static } from 'typebox';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { type FeatureStatus, listFeatures } from '../../licensing/admin/feature-table.js';

const { report } = createRowBuilders(['licences']);

const Feature = Type.Object({
  key: Type.String(),
  displayName: Type.String(),
  description: Type.String(),
  category: Type.String(),
  minimumEdition: Type.String(),
  isEnabled: Type.Boolean(),
  upgradeMessage: OptionalStringSchema,
});

/** Features of this server. */
export const features = group(
  { tag: 'Features', scope: 'features', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /features', 'Get Feature Overview', {
      data: Type.Object({ currentEdition: Type.String(), features: Type.Array(Feature) }),
      answer: (_x, { licences }) => ({
        currentEdition: licences.status().edition,
        features: listFeatures(licences).map(featureView),
      }),
    }),
  ],
);

function featureView({ name, isEnabled, ...feature }: FeatureStatus): Static<typeof Feature> {
  const upgradeMessage = isEnabled ? null : `The licence does not cover ${feature.key}.`;
  return { ...feature, displayName: name, isEnabled, upgradeMessage };
}
