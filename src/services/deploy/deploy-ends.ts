import type { Ledger } from '../operate/ledger.js';
import { peekSeal } from '../operate/seals.js';
import type { ProposalStatement } from '../operate/statements.js';
import { DEPLOY_ACTION, type DeployParameters } from './actuator.js';
import { DEPLOY_DOCUMENT, type DeployBody, deriveFromProposal } from './operation-state.js';

/** Writes the final state of a proposal to its operation, in the transaction that ends the proposal. */
export function recordDeployEnds(ledger: Pick<Ledger, 'onSettled'>): void {
  ledger.onSettled(async ({ documents, proposals }, { proposalId }) => {
    const row = await proposals.get(proposalId);
    if (!row?.actuator.startsWith(`${DEPLOY_ACTION}@`)) return;
    const { parameters } = peekSeal<ProposalStatement>(row.statement) ?? {};
    const operationId = (parameters as Partial<DeployParameters> | undefined)?.operationId;
    if (operationId === undefined) return;
    const operation = await documents.get<DeployBody>(DEPLOY_DOCUMENT, operationId);
    if (operation?.body.proposalId !== proposalId) return;
    const { status, message, completedAt } = deriveFromProposal(row);
    const end = { status, message, at: completedAt ?? Date.now(), jobId: row.job_id };
    await documents.update<DeployBody>(DEPLOY_DOCUMENT, operationId, row.resolved_by ?? 'system', (body) => ({
      ...body,
      end,
    }));
  });
}
