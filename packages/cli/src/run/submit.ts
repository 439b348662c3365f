import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { orderedUuid } from '@holdpoint/contracts/values/ids';
import type { TaskView } from '@holdpoint/contracts/task/views';
import type { Client } from '../bus/client.ts';
import { Refusal } from '../kit/refusal.ts';

export type Submission = ApiRequest<'orchestrator', 'submit'>;

/** A workflow that does not fit into one message cannot be submitted. */
const tooLarge = (error: unknown, { workflow, definition }: Submission): unknown =>
  hasCode(error, 'CONTRACT_PAYLOAD_TOO_LARGE')
    ? new HoldpointError(
        error.code,
        `${workflow} with ${String(definition?.nodes.length ?? 0)} nodes is too large: ${error.message}; split it and chain the parts with --after`,
        { cause: error },
      )
    : error;

/** Submits a run and resolves to its first state. */
export const submitRun = async (client: Client, submission: Submission): Promise<TaskView> => {
  const { id } = await client
    .call('orchestrator', 'submit', submission, { requestId: orderedUuid() })
    .catch((error: unknown) => {
      throw tooLarge(error, submission);
    });
  return client.call('orchestrator', 'get', { id });
};

const ID_MAX = 64;

/** The ID of one of several runs; a single run keeps the given ID. */
export const idOf = (id: string | undefined, index: number, count: number): string | undefined => {
  if (id === undefined || count === 1) return id;
  const numbered = `${id}-${String(index + 1)}`;
  if (numbered.length <= ID_MAX) return numbered;
  throw new Refusal('CLI_ID', `--id ${id}: ${numbered} is longer than ${String(ID_MAX)} characters`);
};
