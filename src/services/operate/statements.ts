import type { JWK } from 'jose';
import type { ActionOutcome, ActionPlan, Precondition, ProposalKind } from '../../core/operate/proposals.js';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import { type OpenSeal, openSeal, SealError } from './seals.js';

/** The content of a proposal: the approver sees it, and the server executes exactly this. */
export interface ProposalStatement {
  readonly schema: 'svc.proposal/v1';
  readonly kind: ProposalKind;
  readonly actuator: string;
  readonly version: number;
  readonly permission: string;
  readonly parameters: unknown;
  readonly preconditions: readonly Precondition[];
  readonly plan: Required<Omit<ActionPlan, 'discriminator'>> & { readonly discriminator: string };
  readonly findingId: string | null;
  /** Digest of the evidence document. */
  readonly evidence: string | null;
  readonly autonomyRule: string | null;
  readonly requestedBy: string;
  readonly requestedByAgent: string | null;
  /** Digest of the stored principal of the requester. */
  readonly requester: string | null;
  readonly tenant: string | null;
  readonly reason: string | null;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Makes equal proposals of different times different. */
  readonly nonce: string;
}

/** Version of the autonomy policy that approved a proposal. */
export interface ApprovingPolicy {
  readonly rule: string;
  readonly version: number;
  /** Caller who last changed the policy. */
  readonly setBy: string;
}

/** Decision to execute one proposal once, by one job. */
export interface ApprovalStatement {
  readonly schema: 'svc.approval/v1';
  /** Digest of the statement. */
  readonly proposal: string;
  readonly approvedBy: string;
  /** Digest of the stored principal of the approver; null for a policy. */
  readonly approver: string | null;
  readonly policy: ApprovingPolicy | null;
  readonly operationId: string;
  readonly decidedAt: string;
}

/** Outcome of an approved proposal. */
export interface ReceiptStatement {
  readonly schema: 'svc.receipt/v1';
  /** Digest of the statement. */
  readonly proposal: string;
  /** Digest of the approval. */
  readonly approval: string;
  readonly operationId: string;
  readonly outcome: ActionOutcome;
  readonly policy: ApprovingPolicy | null;
  /** Null if the action did not start. */
  readonly actedAt: string | null;
  readonly message: string;
  readonly reasons: readonly string[];
  readonly finishedAt: string;
}

/** Seals of one proposal, each as JSON text. */
export interface SealTexts {
  readonly statement: string;
  readonly approval: string | null;
  readonly receipt: string | null;
  /** The document whose digest the statement contains, as canonical JSON. */
  readonly evidence?: string | null;
}

/** The verified chain from the evidence to the receipt. */
export interface SealChain {
  readonly statement: OpenSeal<ProposalStatement>;
  readonly approval: OpenSeal<ApprovalStatement> | undefined;
  readonly receipt: OpenSeal<ReceiptStatement> | undefined;
}

/** Verifies all seals, and that each names the one before. Throws `SealError`, which names the broken link. */
export async function openChain(texts: SealTexts, keys: readonly JWK[]): Promise<SealChain> {
  const statement = await openSeal<ProposalStatement>('statement', texts.statement, keys);
  const { evidence } = texts;
  if (typeof evidence === 'string' && computeEvidenceDigest(evidence) !== statement.payload.evidence)
    throw new SealError('evidence', 'is not the document whose digest the statement contains');
  if (texts.approval === null) {
    if (texts.receipt !== null) throw new SealError('approval', 'is missing, but there is a receipt');
    return { statement, approval: undefined, receipt: undefined };
  }
  const approval = await openSeal<ApprovalStatement>('approval', texts.approval, keys);
  if (approval.payload.proposal !== statement.digest)
    throw new SealError('approval', 'belongs to another proposal');
  if (texts.receipt === null) return { statement, approval, receipt: undefined };
  const receipt = await openSeal<ReceiptStatement>('receipt', texts.receipt, keys);
  if (receipt.payload.proposal !== statement.digest)
    throw new SealError('receipt', 'belongs to another proposal');
  if (receipt.payload.approval !== approval.digest)
    throw new SealError('receipt', 'belongs to another approval');
  return { statement, approval, receipt };
}

/** The digest of a document that a statement can name as its evidence. */
export function computeEvidenceDigest(document: unknown): string {
  return computeFingerprint(typeof document === 'string' ? document : canonical(document));
}

/** The id of a proposal: the digest of its statement, without the name of the algorithm. */
export const formatProposalId = (digest: string) => digest.slice(digest.indexOf(':') + 1);
