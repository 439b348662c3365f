import { Gate, type GateCheckpoint, type Suggestion } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/side-effect';
import { parseTime, TIME } from '../reading/coerce.ts';
import { shown, type Report } from '../problems/report.ts';
import { fieldPath, parseShape, valueAt } from '../reading/shape.ts';
import type { Scalar } from '../reading/table.ts';
import { fromCalls } from './documented.ts';
import { gateProblems } from './problems.ts';
import { contextOf, GateFile, expandShorthands, type RawCheckpoint, type RawSuggestion } from './schema.ts';
import { parseYaml } from './yaml.ts';

/**
 * Parses a time into milliseconds. For an invalid time it reports and returns `instead`, so that the other
 * checks can continue.
 */
type Time = (value: Scalar, path: string, instead: number) => number;

const SHORT_MS = 1_000;

const suggestionOf = ({ emit, phase, to }: RawSuggestion): Suggestion => ({
  emit,
  ...(phase !== undefined && { phase }),
  // The place of use checks that the node exists.
  ...(to !== undefined && { to: to as NodeId }),
});

const suggestionsOf = (
  raw: Readonly<Record<string, RawSuggestion | undefined>>,
): Record<string, Suggestion> =>
  Object.fromEntries(
    Object.entries(raw).flatMap(([name, one]) => (one === undefined ? [] : [[name, suggestionOf(one)]])),
  );

const policyOf = (raw: GateFile, time: Time): Gate['policy'] => {
  const { quorum, four_eyes: fourEyes, veto, on_expiry: onExpiry, rules } = raw.policy ?? {};
  const { remind, hand_on: handOn } = raw.approval_request ?? {};
  const decisions = raw.allowed_decisions;
  return {
    ...(decisions !== undefined && { decisions: [...new Set(decisions)] }),
    ...(quorum !== undefined && { quorum }),
    ...(fourEyes !== undefined && { fourEyes }),
    ...(veto !== undefined && { veto }),
    ...(onExpiry !== undefined && { onExpiry }),
    ...(rules !== undefined && { rules }),
    ...(remind !== undefined && {
      remindMs: remind.map((one, index) => time(one, `approval_request.remind[${String(index)}]`, SHORT_MS)),
    }),
    ...(handOn !== undefined && {
      handOn: handOn.map(({ after, audience }, index) => ({
        afterMs: time(after, `approval_request.hand_on[${String(index)}].after`, SHORT_MS),
        audience,
      })),
    }),
  };
};

const checkpointOf = ({ checkpoint, note, payload }: RawCheckpoint): GateCheckpoint => ({
  checkpoint,
  ...(note !== undefined && { note }),
  ...(payload !== undefined && { payload }),
});

const requestOf = ({
  title,
  audience,
  body,
  on_open: onOpen = [],
}: NonNullable<GateFile['approval_request']>) => ({
  ...(title !== undefined && { title }),
  ...(audience !== undefined && { audience }),
  ...(body !== undefined && { body }),
  onOpen: onOpen.map(({ task_record_checkpoint: checkpoint }) => checkpointOf(checkpoint)),
});

const timeoutsOf = (raw: GateFile, time: Time): Gate['timeoutMs'] =>
  Object.fromEntries(
    Object.entries(raw.approval_request?.timeout ?? {}).flatMap(([kind, value]) =>
      value === undefined ? [] : [[kind, time(value, `approval_request.timeout.${kind}`, WAIT_MAX_MS)]],
    ),
  );

const gateOf = (raw: GateFile, time: Time): Gate => {
  const { resume_branches: branches = [], recovery = {} } = raw;
  const { on_worker_crash: crash, on_duplicate_side_effect_attempt: duplicate } = recovery;
  return {
    id: raw.id,
    version: raw.version,
    ...(raw.purpose !== undefined && { purpose: raw.purpose.trim() }),
    inputs: raw.inputs ?? {},
    given: {},
    loadContext: [...new Set((raw.load_context ?? []).flatMap(contextOf))],
    request: requestOf(raw.approval_request ?? {}),
    policy: policyOf(raw, time),
    timeoutMs: timeoutsOf(raw, time),
    onDecision: suggestionsOf(raw.on_decision ?? {}),
    resumePolicy: raw.resume_policy ?? (branches.length > 0 ? 'branches' : 'decision'),
    resumeBranches: branches.map(({ when, checkpoints, ...rest }) => ({
      when,
      ...suggestionOf(rest),
      ...(checkpoints && { checkpoints: checkpoints.map(checkpointOf) }),
    })),
    recovery: {
      ...(crash !== undefined && { onWorkerCrash: suggestionOf(crash) }),
      ...(duplicate !== undefined && { onDuplicateSideEffectAttempt: suggestionOf(duplicate) }),
    },
    constraints: raw.constraints ?? [],
  };
};

/** Names of gate fields in the file. */
const WRITTEN: Readonly<Record<string, string>> = {
  loadContext: 'load_context',
  request: 'approval_request',
  onOpen: 'on_open',
  timeoutMs: 'approval_request.timeout',
  onDecision: 'on_decision',
  resumePolicy: 'resume_policy',
  resumeBranches: 'resume_branches',
  handOn: 'hand_on',
  remindMs: 'remind',
};

const writtenPath = (gate: Gate, path: readonly PropertyKey[]): string => {
  const [first, second, ...rest] = fieldPath(gate, path)
    .split('.')
    .map((part) =>
      part.replace(/^\w+/, (name) => (Object.hasOwn(WRITTEN, name) ? (WRITTEN[name] ?? name) : name)),
    );
  if (first === 'policy' && second === 'decisions') return 'allowed_decisions';
  if (first === 'policy' && second !== undefined && /^(?:remind|hand_on)/.test(second))
    return ['approval_request', second, ...rest].join('.');
  return [first, second, ...rest].filter((part) => part !== undefined).join('.');
};

/** Parses a gate template. Returns undefined after any error; all errors are in the report. */
export const parseGate = (text: string, file: string, report: Report): Gate | undefined => {
  const data = parseYaml(text, file, report);
  if (data === undefined) return undefined;
  let sound = true;
  const error: Report['error'] = (found) => {
    sound = false;
    report.error({ ...found, file });
  };
  fromCalls(data, {
    error,
    warning: (found) => {
      report.warning({ ...found, file });
    },
  });
  expandShorthands(data);
  const raw = parseShape(GateFile, data, { file, report: { ...report, error } });
  if (raw === undefined) return undefined;
  const gate = gateOf(raw, (value, path, instead) => {
    const ms = parseTime(String(value));
    if (ms !== undefined) return ms;
    error({ code: 'WORKFLOW_VALUE_COERCION', path, found: shown(value), expected: TIME });
    return instead;
  });
  const said = new Set<string>();
  for (const { meant, ...problem } of gateProblems(gate)) {
    said.add(problem.path);
    error({ ...problem, ...(meant !== undefined && { meant: [meant.word, meant.known.keys()] as const }) });
  }
  for (const issue of Gate.safeParse(gate).error?.issues ?? []) {
    const path = writtenPath(gate, issue.path);
    if (said.has(path)) continue;
    const found = shown(valueAt(gate, issue.path));
    error({ code: 'WORKFLOW_VALUE_INVALID', path, found, expected: issue.message });
  }
  return sound ? gate : undefined;
};
