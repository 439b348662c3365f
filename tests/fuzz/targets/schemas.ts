import assert from 'node:assert/strict';
import { digestOf } from '@holdpoint/contracts/json';
import { NESTING_MAX, parseAs, parseJson } from '@holdpoint/runtime/inbound';
import { bodyFor } from '../hostile/body.ts';
import { casesFor, messageCalled, validMessage } from '../messages.ts';
import { isStorable, keepsPrototypesClean, levelsOf, refusalOf, sameJson, stored } from '../promises.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf } from '../text.ts';

/** Every body of the catalogue. A new one is added here, and to the target of whoever acts on it. */
const NAMES = [
  'command/task.submit',
  'command/task.cancel',
  'command/task.pause',
  'command/task.resume',
  'command/task.retry',
  'command/task.recover',
  'command/task.skip',
  'command/task.watch',
  'command/task.inform',
  'command/task.board',
  'command/approval.request',
  'command/approval.cancel',
  'command/effect.run',
  'command/effect.cancel',
  'command/effect.resolve',
  'command/recovery.assess',
  'command/recovery.circuit',
  'fact/task.submitted',
  'fact/task.readied',
  'fact/task.approval_requested',
  'fact/task.approval_closed',
  'fact/task.effect_ordered',
  'fact/task.node_succeeded',
  'fact/task.node_failed',
  'fact/task.doubt_asked',
  'fact/task.doubt_answered',
  'fact/task.checkpoint',
  'fact/task.node_retrying',
  'fact/task.node_skipped',
  'fact/task.node_blocked',
  'fact/task.node_escalated',
  'fact/task.paused',
  'fact/task.resumed',
  'fact/task.completed',
  'fact/task.failed',
  'fact/task.cancelled',
  'fact/task.artifacts_known',
  'fact/task.board_locked',
  'fact/task.board_queued',
  'fact/task.board_reported',
  'fact/task.board_unlocked',
  'fact/task.board_unwatched',
  'fact/task.board_watched',
  'fact/task.locks_held',
  'fact/task.locks_wanted',
  'fact/task.node_ended',
  'fact/task.node_inspected',
  'fact/task.node_paused',
  'fact/task.node_previewed',
  'fact/task.node_resumed',
  'fact/task.node_started',
  'fact/task.node_waiting',
  'fact/task.peer_ended',
  'fact/task.rewound',
  'fact/task.step_ended',
  'fact/task.step_ordered',
  'fact/task.watched',
  'fact/approval.requested',
  'fact/approval.resolved',
  'fact/effect.prepared',
  'fact/effect.started',
  'fact/effect.applied',
  'fact/effect.answered',
  'fact/effect.not_applied',
  'fact/effect.probed',
  'fact/effect.duplicate_prevented',
  'fact/effect.failed_clean',
  'fact/effect.in_doubt',
  'fact/effect.refused',
  'fact/effect.cancelled',
  'fact/effect.cancel_requested',
  'fact/effect.superseded',
  'fact/recovery.assessed',
  'fact/recovery.circuit_opened',
  'fact/recovery.circuit_half_opened',
  'fact/recovery.circuit_closed',
  'api/orchestrator.submit.request',
  'api/orchestrator.submit.response',
  'api/orchestrator.cancel.request',
  'api/orchestrator.cancel.response',
  'api/orchestrator.pause.request',
  'api/orchestrator.pause.response',
  'api/orchestrator.resume.request',
  'api/orchestrator.resume.response',
  'api/orchestrator.retry.request',
  'api/orchestrator.retry.response',
  'api/orchestrator.skip.request',
  'api/orchestrator.skip.response',
  'api/orchestrator.fork.request',
  'api/orchestrator.fork.response',
  'api/orchestrator.get.request',
  'api/orchestrator.get.response',
  'api/orchestrator.list.request',
  'api/orchestrator.list.response',
  'api/orchestrator.history.request',
  'api/orchestrator.history.response',
  'api/approvals.decide.request',
  'api/approvals.decide.response',
  'api/approvals.get.request',
  'api/approvals.get.response',
  'api/approvals.list.request',
  'api/approvals.list.response',
  'api/executor.get.request',
  'api/executor.get.response',
  'api/executor.list.request',
  'api/executor.list.response',
  'api/executor.artifacts.request',
  'api/executor.artifacts.response',
  'api/executor.artifact.request',
  'api/executor.artifact.response',
  'api/executor.capabilities.request',
  'api/executor.capabilities.response',
  'api/executor.order.request',
  'api/executor.order.response',
  'api/recovery.history.request',
  'api/recovery.history.response',
  'api/recovery.circuits.request',
  'api/recovery.circuits.response',
  'api/recovery.circuit.request',
  'api/recovery.circuit.response',
  'api/error',
  'log/line',
  'dead-letter/letter',
] as const;

type Input = { readonly message: string; readonly body: Bytes };

/** Any bytes are a value of the schema or are refused with a code; what is taken can be stored, digested and read again. */
export const schemas = target<Input>({
  name: 'schemas',
  runs: 40,
  reaches: ['accepted', 'CONTRACT_INVALID', 'CONTRACT_NOT_JSON'],
  cases: casesFor(NAMES, (message) => bodyFor(validMessage(message)).map((body) => ({ message, body }))),
  check: ({ message, body }) => {
    const { schema } = messageCalled(message);
    let value: unknown;
    try {
      value = parseAs(schema, parseJson(bytesOf(body)));
    } catch (error) {
      return refusalOf(error).code;
    } finally {
      keepsPrototypesClean();
    }
    assert.ok(levelsOf(value) <= NESTING_MAX);
    assert.ok(isStorable(stored(value)));
    const again = parseAs(schema, parseJson(Buffer.from(JSON.stringify(value))));
    assert.ok(sameJson(again, value));
    assert.equal(digestOf(stored(again)), digestOf(stored(value)));
    return 'accepted';
  },
});
