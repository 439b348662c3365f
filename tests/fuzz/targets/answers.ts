import assert from 'node:assert/strict';
import { type Reply, readAnswer } from '@holdpoint/contracts/catalog/reply';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import fc from 'fast-check';
import { type ReplyInput, replyOf, replyTo } from '../hostile/replies.ts';
import { casesFor, messageCalled } from '../messages.ts';
import { keepsPrototypesClean } from '../promises.ts';
import { target } from '../target.ts';
import { bytesOf } from '../text.ts';

/** The endpoints with answers. */
const NAMES = [
  'api/orchestrator.submit.response',
  'api/orchestrator.cancel.response',
  'api/orchestrator.pause.response',
  'api/orchestrator.resume.response',
  'api/orchestrator.retry.response',
  'api/orchestrator.skip.response',
  'api/orchestrator.done.response',
  'api/orchestrator.checkpoint.response',
  'api/orchestrator.record_review.response',
  'api/orchestrator.fork.response',
  'api/orchestrator.get.response',
  'api/orchestrator.list.response',
  'api/orchestrator.history.response',
  'api/orchestrator.program_register.response',
  'api/orchestrator.program_list.response',
  'api/orchestrator.workflows.response',
  'api/orchestrator.work.response',
  'api/orchestrator.value_put.response',
  'api/orchestrator.value_get.response',
  'api/orchestrator.dead_letter_list.response',
  'api/orchestrator.dead_letter_get.response',
  'api/orchestrator.dead_letter_resolve.response',
  'api/orchestrator.info.response',
  'api/orchestrator.counts.response',
  'api/orchestrator.retention.response',
  'api/orchestrator.purge.response',
  'api/approvals.decide.response',
  'api/approvals.get.response',
  'api/approvals.list.response',
  'api/approvals.decide_many.response',
  'api/approvals.whoami.response',
  'api/approvals.check.response',
  'api/approvals.rule_add.response',
  'api/approvals.rule_revoke.response',
  'api/approvals.rule_list.response',
  'api/approvals.rule_test.response',
  'api/approvals.token_create.response',
  'api/approvals.token_revoke.response',
  'api/approvals.token_list.response',
  'api/approvals.identify.response',
  'api/approvals.person_add.response',
  'api/approvals.person_change.response',
  'api/approvals.person_list.response',
  'api/approvals.person_remove.response',
  'api/approvals.policy_get.response',
  'api/approvals.policy_test.response',
  'api/approvals.executor_join.response',
  'api/approvals.executor_list.response',
  'api/approvals.executor_revoke.response',
  'api/approvals.executor_forget.response',
  'api/approvals.capability_register.response',
  'api/approvals.capability_withdraw.response',
  'api/approvals.capability_list.response',
  'api/approvals.callbacks.response',
  'api/approvals.audit.response',
  'api/approvals.keys.response',
  'api/approvals.dead_letter_list.response',
  'api/approvals.dead_letter_get.response',
  'api/approvals.dead_letter_resolve.response',
  'api/approvals.info.response',
  'api/approvals.counts.response',
  'api/approvals.retention.response',
  'api/approvals.purge.response',
  'api/executor.get.response',
  'api/executor.list.response',
  'api/executor.artifacts.response',
  'api/executor.artifact.response',
  'api/executor.capabilities.response',
  'api/executor.order.response',
  'api/executor.executors.response',
  'api/executor.forget.response',
  'api/executor.claim.response',
  'api/executor.beat.response',
  'api/executor.end.response',
  'api/executor.claimants.response',
  'api/executor.dead_letter_list.response',
  'api/executor.dead_letter_get.response',
  'api/executor.dead_letter_resolve.response',
  'api/executor.info.response',
  'api/executor.counts.response',
  'api/executor.retention.response',
  'api/executor.purge.response',
  'api/recovery.history.response',
  'api/recovery.stuck.response',
  'api/recovery.report.response',
  'api/recovery.classify.response',
  'api/recovery.failure_counts.response',
  'api/recovery.circuits.response',
  'api/recovery.circuit.response',
  'api/recovery.dead_letter_list.response',
  'api/recovery.dead_letter_get.response',
  'api/recovery.dead_letter_resolve.response',
  'api/recovery.info.response',
  'api/recovery.counts.response',
  'api/recovery.retention.response',
  'api/recovery.purge.response',
] as const;

type Input = { readonly answer: string; readonly reply: ReplyInput };

/** Endpoints have separate types; here they come from a list. */
const read = readAnswer as (service: ServiceName, endpoint: string, reply: Reply) => unknown;

/** Every answer is valid by contract or an error with a code. */
export const answers = target<Input>({
  name: 'answers',
  runs: 40,
  reaches: ['accepted', 'refused'],
  cases: casesFor(NAMES, (answer) =>
    fc.record({
      answer: fc.constant(answer),
      reply: replyTo(answer.replace('api/', '').replace('.response', '')),
    }),
  ),
  check: ({ answer, reply }) => {
    const [service = '', endpoint = ''] = answer.replace('api/', '').split('.');
    try {
      const said = read(service as ServiceName, endpoint, replyOf(reply));
      assert.ok(messageCalled(answer).schema.safeParse(said).success);
      return 'accepted';
    } catch (error) {
      if (!(error instanceof HoldpointError)) throw error;
      // A refusal keeps its text; our own text about an invalid answer is short.
      assert.equal(typeof error.code, 'string');
      assert.ok(error.message.length < bytesOf(reply.body).length + 16_384);
      return 'refused';
    } finally {
      keepsPrototypesClean();
    }
  },
});
