import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { hasCode } from '@holdpoint/contracts/values/errors';
import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Client } from '../bus/client.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Job } from './job.ts';
import { waitText } from './record.ts';

const isUnknown = (error: unknown): boolean => hasCode(error, 'APPROVALS_UNKNOWN');

/** The approval of a job; undefined while the request is on its way. */
export const findApproval = async (
  client: Client,
  id: ApprovalId | undefined,
): Promise<ApprovalView | undefined> => {
  if (id === undefined) return undefined;
  try {
    return await client.call('approvals', 'get', { id });
  } catch (error) {
    if (isUnknown(error)) return undefined;
    throw error;
  }
};

/** The pending request of a job: its approval, or the question of its workflow. */
export const waitsFor = ({ job, approval, question }: Job['node']): ApprovalId | undefined =>
  job === 'waiting_on_approval' ? (approval ?? question) : undefined;

export const isPending = ({ node }: Job): boolean => waitsFor(node) !== undefined;

/** The pending request. Throws `CLI_NOTHING_TO_DECIDE` with the actual status. */
export const pendingApproval = (job: Job): ApprovalId => {
  const { id, node } = job;
  const pending = waitsFor(node);
  if (pending !== undefined) return pending;
  const wait = waitText(node);
  const why = wait === '' ? '' : `, waiting for ${wait}`;
  throw new Refusal('CLI_NOTHING_TO_DECIDE', `${id} is ${node.job}${why}: nothing to approve or reject`);
};
