import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { createReport } from '../src/problems/report.ts';
import type { Problem } from '../src/problems/problem.ts';
import { parseGate } from '../src/gate/parse.ts';

export const HEAD = 'id: release\nversion: "1"\n';

export const FULL = `
id: release
version: "4"
inputs:
  side_effect_kind: { type: enum, values: [deploy, merge, other] }
  team: { type: string, default: ops }
  size: { type: integer, default: 3, description: how many }
  ratio: { type: number }
  urgent: { type: boolean, default: false }
  stage: { type: enum, values: [staging, live], required: true }
  services: { type: list, default: [] }
  labels: { type: object, default: {} }
  note: string
load_context: [task_get, node, outputs, attempts_get, task_get_checkpoints]
approval_request:
  title: "{{ inputs.stage }}: {{ effect.target }}"
  audience: ["group:release", "role:{{ inputs.team }}"]
  body: |
    {{ task.goal }} by {{ node.id }}
    {% for name in inputs.services %}{{ loop.index }}. {{ name }}
    {% endfor %}{% for one in attempts %}{{ one.outcome }}{% endfor %}
    {{ checkpoints | length }} {{ outputs.build.digest }}
  on_open:
    - task_record_checkpoint: { checkpoint: approval_requested, note: "{{ effect.digest }}" }
    - task_record_checkpoint: { checkpoint: asked }
  timeout: { default: 10m, deploy: 2h }
  remind: [5m, "90m"]
  hand_on:
    - { after: 1h, audience: "user:ada" }
    - { after: 7m, audience: [managers, "role:duty"] }
allowed_decisions: [approve, reject, request_changes]
policy: { quorum: 2, four_eyes: true, veto: false, on_expiry: expire, rules: false }
on_decision:
  approve: resume_executor
  reject: { emit: return_to_orchestrator, phase: blocked }
  request_changes: { emit: return_to_orchestrator, to: build }
  expire: { emit: ask_orchestrator_for_resume_decision }
resume_policy: branches
resume_branches:
  - { when: "decision.outcome == 'approved' and outputs.build.gone", emit: return_to_orchestrator, phase: recovering }
  - { when: inputs.urgent, emit: skip_duplicate_effect }
recovery:
  on_worker_crash: { emit: ask_orchestrator_for_resume_decision }
  on_duplicate_side_effect_attempt: skip_duplicate_effect
constraints:
  - { when: "effect.kind == inputs.side_effect_kind", message: another kind }
`;

/** A gate in the form of tool calls, with every section. */
export const CALLS = `
template: release
version: 0.1
purpose: >
  Hold a release until its owner agrees.

inputs:
  task_id: string
  attempt_id: string
  requested_action: string
  requested_by: string
  side_effect_kind: enum[write_external, deploy, merge, notify, destructive_edit, other]
  idempotency_key: string
  rollback_hint: string?

load_context:
  - tool: task_get
    args: { task_id: "{{ task_id }}" }
    save_as: task

approval_request:
  title: "Release: {{ requested_action }}"
  audience: ["release-owners"]
  body: |
    {{ task.title }} {{ task.phase.current }} {{ attempt_id }} {{ idempotency_key }}
    {{ task.spec.goal }}
    {% for item in task.spec.acceptance_criteria %}- {{ item }}
    {% endfor %}
    {{ task.reviews.spec.latest_verdict }} {{ task.reviews.quality.latest_verdict }}
    {{ task.artifacts.primary.latest.uri }}
    {{ rollback_hint or "none provided" }}
  on_open:
    - tool: task_request_approval
      args:
        task_id: "{{ task_id }}"
        attempt_id: "{{attempt_id}}"
        requested_action: "{{ requested_action }}"
        side_effect_kind: "{{ side_effect_kind }}"
        idempotency_key: "{{ idempotency_key }}"
        status: "pending"
    - tool: task_record_checkpoint
      args: { task_id: "{{ task_id }}", checkpoint_type: opened, payload: { key: "{{ idempotency_key }}" } }

allowed_decisions: [approve, reject, request_changes]

on_decision:
  - tool: task_resolve_approval
    args:
      task_id: "{{ task_id }}"
      approval_id: "{{ lobster.approval.id }}"
      resolution: "{{ lobster.decision }}"
      resolved_by: "{{ lobster.actor }}"
      note: "{{ lobster.comment }}"

resume_policy:
  strategy: resume_from_store
  description: A task continues from its records.

resume_branches:
  - when: task.phase.current == "awaiting_approval" and task.approvals.latest.status == "approved"
    actions:
      - tool: task_record_checkpoint
        args:
          task_id: "{{ task_id }}"
          attempt_id: "{{ attempt_id }}"
          checkpoint_type: "resume_granted"
          payload: { resumed_by: "{{ lobster.actor }}", key: "{{ idempotency_key }}" }
      - emit:
          action: "resume_executor"
          payload: { task_id: "{{ task_id }}", idempotency_key: "{{ idempotency_key }}" }
  - when: task.approvals.latest.status in ["rejected", "request_changes"]
    actions:
      - emit:
          action: "return_to_orchestrator"
          payload: { task_id: "{{ task_id }}", suggested_phase: "execution_ready" }

recovery:
  on_worker_crash:
    - tool: task_record_checkpoint
      args: { task_id: "{{ task_id }}", checkpoint_type: "worker_crash_detected" }
    - emit: { action: "ask_orchestrator_for_resume_decision", payload: { attempt_id: "{{ attempt_id }}" } }
  on_duplicate_side_effect_attempt:
    - tool: task_record_checkpoint
      args: { checkpoint_type: "duplicate_effect_prevented" }
    - emit: { action: "skip_duplicate_effect" }

constraints:
  - "The gate suggests, and the orchestrator decides."
`;

/** Parses a gate and returns its problems. */
export const read = (
  text: string,
): { readonly gate: Gate | undefined; readonly problems: readonly Problem[] } => {
  const report = createReport();
  const gate = parseGate(text, 'release.yaml', report);
  return { gate, problems: report.problems };
};

export const errorsOf = (text: string): readonly string[] =>
  read(text).problems.map(({ code, path }) => `${code} ${path}`.trim());
