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
