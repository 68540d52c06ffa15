import type { Static } from 'typebox';
import { problem, refuse } from '../../../core/http/body-problems.js';
import {
  type Encoding,
  readProof,
  UnreadableCertificate,
} from '../../../services/access/certificates/encodings.js';
import { daysLeft, type Judgement, type Proof } from '../../../services/access/certificates/judgement.js';
import type { Services } from '../../admin/deps.js';
import type { ValidationBody } from './certificate-bodies.js';
import type { ValidationSchema } from './certificate-views.js';

type Validation = Static<typeof ValidationSchema>;

/** The result that a request with this certificate would have. */
export async function validateCertificate(
  { certificate, encoding = 'pem', profileId }: Static<typeof ValidationBody>,
  deps: Services<'certificates' | 'rules'>,
): Promise<Validation> {
  if (profileId) await requireProfile(profileId, deps);
  if (certificate.trim() === '') return without('client_certificate_missing', 'There is no certificate.');
  const proof = readable(certificate, encoding as Encoding);
  if (typeof proof === 'string') return without('client_certificate_forwarding_invalid', proof);
  const now = Date.now();
  const judgement = deps.certificates.judge(proof, now, profileId ?? undefined);
  return view(judgement, proof, now, deps);
}

async function requireProfile(id: string, { certificates }: Services<'certificates'>): Promise<void> {
  const all = await certificates.list();
  if (!all.some(({ profile }) => profile.id === id))
    refuse(problem('profileId', 'there is no trust profile of this id'));
}

/** The certificate, or why it cannot be read. */
function readable(text: string, encoding: Encoding): Proof | string {
  try {
    return readProof(text, encoding);
  } catch (error) {
    if (error instanceof UnreadableCertificate) return `The certificate cannot be read: ${error.message}.`;
    throw error;
  }
}

const NOTHING = {
  environmentId: null,
  trustProfileId: null,
  mappingId: null,
  principalId: null,
  fingerprintSha256: null,
  daysUntilExpiry: null,
};

function without(code: Validation['code'], detail: string): Validation {
  return { valid: false, code, detail, ...NOTHING };
}

function view(judgement: Judgement, { leaf }: Proof, now: number, { rules }: Services<'rules'>): Validation {
  const { profile, mapping } = judgement;
  const isPowerless =
    judgement.code === 'success' && rules.current.labelsOf(judgement.mapping.body.roles).length === 0;
  const { code, detail } = isPowerless
    ? {
        code: 'client_certificate_insufficient_rbac' as const,
        detail: 'The roles of the mapping permit nothing.',
      }
    : judgement;
  return {
    valid: code === 'success',
    code,
    detail,
    environmentId: profile?.body.environmentId ?? null,
    trustProfileId: profile?.id ?? null,
    mappingId: mapping?.id ?? null,
    principalId: mapping?.body.principalId ?? null,
    fingerprintSha256: leaf.fingerprint,
    daysUntilExpiry: daysLeft(leaf, now),
  };
}
