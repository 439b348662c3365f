import { AudienceMember } from '@holdpoint/contracts/workflow/audience';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import {
  GateContext,
  type Gate,
  type GateCheckpoint,
  type GateInput,
  type Suggestion,
} from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { DECISION_MS, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { checkExpression, checkTemplate } from '../expression/expression.ts';
import type { Problem } from '../problems/problem.ts';
import { listed, shown } from '../problems/report.ts';

/** A problem of a gate, with a path in its file such as `approval_request.title`. */
export type GateProblem = Pick<Problem, 'code' | 'path' | 'found' | 'expected'> & {
  /** The word as written, and the known words for a suggestion. */
  readonly meant?: { readonly word: string; readonly known: Names };
};

type Names = { readonly size: number; keys(): Iterable<string> };

/** The nodes of the workflow around a gate. */
type Nodes = Names & { has(node: NodeId): boolean };

/** The input that receives the kind of the effect. */
export const KIND_INPUT = 'side_effect_kind';

/** The names that the inputs of a gate may use; the workflow's author writes these. */
export const INPUT_NAMES: ReadonlySet<string> = new Set(['inputs', 'nodes', 'task', 'node', 'effect']);

/** Whether a text has parts that are rendered when approval is requested. */
export const hasExpressions = (text: string): boolean => /\{[{%#]/.test(text);

const ALWAYS = ['effect', 'inputs'] as const;

/** The names that texts and conditions of a gate may use before a decision exists. */
export const gateNames = ({
  loadContext,
  inputs,
}: Pick<Gate, 'loadContext' | 'inputs'>): ReadonlySet<string> =>
  new Set([...ALWAYS, ...loadContext, ...Object.keys(inputs)]);

const expressions = (gate: Gate): readonly GateProblem[] => {
  const names = gateNames(gate);
  const loadable = (text: string): string => {
    const missing = GateContext.options.filter((name) => !names.has(name) && text.includes(`"${name}"`));
    return missing.length === 0 ? '' : ` (load_context does not list ${missing.join(', ')})`;
  };
  const problem = (path: string, said: string | undefined, expected: string): readonly GateProblem[] =>
    said === undefined
      ? []
      : [{ code: 'WORKFLOW_EXPRESSION', path, found: `${said}${loadable(said)}`, expected }];
  const decided = new Set([...names, 'decision', 'lobster']);
  const text = (path: string, written: string | undefined, known = names): readonly GateProblem[] =>
    problem(
      path,
      checkTemplate(written ?? '', known),
      'a text with {{ expression }} and {% statement %} parts',
    );
  const texts = (path: string, value: Json, known: ReadonlySet<string>): readonly GateProblem[] => {
    if (typeof value === 'string') return text(path, value, known);
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, inner]: [string, Json]) =>
      texts(`${path}.${key}`, inner, known),
    );
  };
  const recorded = (path: string, { note, payload = {} }: GateCheckpoint, known = names) => [
    ...text(`${path}.note`, note, known),
    ...texts(`${path}.payload`, payload, known),
  ];
  const condition = (path: string, written: string, known: ReadonlySet<string>): readonly GateProblem[] =>
    problem(path, checkExpression(written, known), 'an expression');
  const { request, constraints, resumeBranches } = gate;
  const at = (list: string, index: number, field: string): string => `${list}[${String(index)}]${field}`;
  return [
    ...text('approval_request.title', request.title),
    ...(request.audience ?? []).flatMap((one, index) =>
      text(at('approval_request.audience', index, ''), one),
    ),
    ...text('approval_request.body', request.body),
    ...request.onOpen.flatMap((one, index) =>
      recorded(at('approval_request.on_open', index, '.task_record_checkpoint'), one),
    ),
    ...constraints.flatMap(({ when }, index) => condition(at('constraints', index, '.when'), when, names)),
    ...resumeBranches.flatMap(({ when, checkpoints = [] }, index) => [
      ...condition(at('resume_branches', index, '.when'), when, decided),
      ...checkpoints.flatMap((one, place) =>
        recorded(at(`resume_branches[${String(index)}].checkpoints`, place, ''), one, decided),
      ),
    ]),
  ];
};

/** Every suggestion of a gate with its path. */
export const suggestionsOf = ({
  onDecision,
  resumeBranches,
  recovery,
}: Gate): readonly (readonly [path: string, suggestion: Suggestion])[] => {
  const { onWorkerCrash, onDuplicateSideEffectAttempt } = recovery;
  return [
    ...Object.entries(onDecision).map(([verb, one]) => [`on_decision.${verb}`, one] as const),
    ...resumeBranches.map((one, index) => [`resume_branches[${String(index)}]`, one] as const),
    ...(onWorkerCrash === undefined ? [] : [['recovery.on_worker_crash', onWorkerCrash] as const]),
    ...(onDuplicateSideEffectAttempt === undefined
      ? []
      : [['recovery.on_duplicate_side_effect_attempt', onDuplicateSideEffectAttempt] as const]),
  ];
};

const NODES_OF_A_WORKFLOW = 'a node of the workflow';

const suggestions = (gate: Gate, nodes: Nodes | undefined): readonly GateProblem[] =>
  suggestionsOf(gate).flatMap(([path, { emit, phase, to }]): readonly GateProblem[] => {
    const back = emit === 'return_to_orchestrator';
    const stray = (
      [
        ['phase', phase],
        ['to', to],
      ] as const
    ).flatMap(([field, value]) =>
      back || value === undefined
        ? []
        : [
            {
              code: 'WORKFLOW_GATE_SUGGESTION',
              path: `${path}.${field}`,
              found: `${field} with ${emit}`,
              expected: `${field} only with return_to_orchestrator`,
            },
          ],
    );
    const resumes = emit === 'resume_executor' && /^on_decision\.(?!approve$)/.test(path);
    const unknown = to !== undefined && nodes !== undefined && !nodes.has(to);
    return [
      ...stray,
      ...(resumes
        ? [
            {
              code: 'WORKFLOW_GATE_RESUME',
              path: `${path}.emit`,
              found: emit,
              expected: 'another suggestion: only approval resumes the executor',
            },
          ]
        : []),
      ...(unknown
        ? [
            {
              code: 'WORKFLOW_NODE_UNKNOWN',
              path: `${path}.to`,
              found: `${to}, which is not a node`,
              expected: NODES_OF_A_WORKFLOW,
              meant: { word: to, known: nodes },
            },
          ]
        : []),
    ];
  });

/** The possible ends of a request: its decisions and its expiry. */
const outcomesOf = ({
  policy: { decisions = Verb.options, onExpiry = 'expire' },
}: Gate): ReadonlySet<string> => new Set([...decisions, onExpiry]);

const unused = (gate: Gate): readonly GateProblem[] => {
  const possible = outcomesOf(gate);
  const { resumePolicy, resumeBranches } = gate;
  const branches =
    (resumePolicy === 'branches') === resumeBranches.length > 0
      ? []
      : [
          resumePolicy === 'branches'
            ? { found: 'branches', expected: 'resume_branches, or decision' }
            : { found: 'resume_branches without effect', expected: 'branches' },
        ];
  return [
    ...Object.keys(gate.onDecision)
      .filter((verb) => !possible.has(verb))
      .map((verb) => ({
        code: 'WORKFLOW_GATE_UNUSED',
        path: `on_decision.${verb}`,
        found: `a suggestion for ${verb}, which is no possible outcome`,
        expected: `only ${listed(possible)}`,
      })),
    ...branches.map((problem) => ({ code: 'WORKFLOW_GATE_UNUSED', path: 'resume_policy', ...problem })),
  ];
};

const timesOf = ({ timeoutMs }: Gate): number =>
  Math.max(...Object.values(timeoutMs), ...('default' in timeoutMs ? [] : [DECISION_MS]));

const times = (gate: Gate, timeoutMs: number): readonly GateProblem[] => {
  const { remindMs = [], handOn = [] } = gate.policy;
  const late = (ms: number, path: string): readonly GateProblem[] =>
    ms < timeoutMs
      ? []
      : [
          {
            code: 'WORKFLOW_GATE_TIME',
            path,
            found: `after ${String(ms / 1_000)} s`,
            expected: `less than the timeout of ${String(timeoutMs / 1_000)} s`,
          },
        ];
  return [
    ...remindMs.flatMap((ms, index) => late(ms, `approval_request.remind[${String(index)}]`)),
    ...handOn.flatMap(({ afterMs }, index) =>
      late(afterMs, `approval_request.hand_on[${String(index)}].after`),
    ),
  ];
};

const audiences = ({ request, policy }: Gate): readonly GateProblem[] => {
  const problem = (path: string, found: string, expected: string): GateProblem => ({
    code: 'WORKFLOW_GATE_AUDIENCE',
    path,
    found: shown(found),
    expected,
  });
  const who = 'a group, or user:<name>, group:<name>, role:<name>';
  return [
    ...(request.audience ?? []).flatMap((one, index) =>
      hasExpressions(one) || AudienceMember.safeParse(one).success
        ? []
        : [problem(`approval_request.audience[${String(index)}]`, one, who)],
    ),
    ...(policy.handOn ?? []).flatMap(({ audience }, step) =>
      audience.flatMap((one, index) =>
        !hasExpressions(one) && AudienceMember.safeParse(one).success
          ? []
          : [
              problem(
                `approval_request.hand_on[${String(step)}].audience[${String(index)}]`,
                one,
                `${who}, without expressions`,
              ),
            ],
      ),
    ),
  ];
};

/** If all approvers are named users, the quorum cannot exceed their number. */
const quorum = ({ request, policy }: Gate, fallback: readonly string[]): readonly GateProblem[] => {
  const named = [
    ...(request.audience ?? fallback),
    ...(policy.handOn ?? []).flatMap(({ audience }) => audience),
  ];
  const needed = policy.quorum ?? 1;
  const people = new Set(named);
  if (needed <= people.size || named.some((one) => hasExpressions(one) || !one.startsWith('user:')))
    return [];
  return [
    {
      code: 'WORKFLOW_GATE_QUORUM',
      path: 'policy.quorum',
      found: `${String(needed)} of ${String(people.size)} approvers`,
      expected: 'at most the size of the audience',
    },
  ];
};

const TYPES: Readonly<Record<GateInput['type'], (value: Json, input: GateInput) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  enum: (value, { values = [] }) => typeof value === 'string' && values.includes(value),
  list: (value) => Array.isArray(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

export const fitsInput = (value: Json, input: GateInput): boolean => TYPES[input.type](value, input);

export const expectedOf = ({ type, values = [] }: GateInput): string =>
  type === 'enum' ? `one of: ${values.join(', ')}` : `a value of the type ${type}`;

const KINDS: ReadonlySet<string> = new Set(SideEffectKind.options);

const inputProblem = (name: string, input: GateInput): readonly Omit<GateProblem, 'code'>[] => {
  const path = `inputs.${name}`;
  const { type, values, required = false } = input;
  const problems: Omit<GateProblem, 'code'>[] = [];
  if ((type === 'enum') !== (values !== undefined))
    problems.push({
      path: `${path}.values`,
      found: values === undefined ? 'nothing' : `values of the type ${type}`,
      expected: type === 'enum' ? 'a list of values' : 'the type enum',
    });
  if (input.default !== undefined) {
    if (required)
      problems.push({
        path: `${path}.default`,
        found: 'a default of a required input',
        expected: 'either required or a default',
      });
    if (!fitsInput(input.default, input))
      problems.push({ path: `${path}.default`, found: shown(input.default), expected: expectedOf(input) });
    if (hasExpressions(JSON.stringify(input.default)))
      problems.push({
        path: `${path}.default`,
        found: 'an expression in a default',
        expected: 'a literal value: only texts of the gate contain expressions',
      });
  }
  if (name !== KIND_INPUT) return problems;
  const unknown = (values ?? []).find((value) => !KINDS.has(value));
  if (type !== 'enum') problems.push({ path: `${path}.type`, found: type, expected: 'enum' });
  if (unknown !== undefined)
    problems.push({
      path: `${path}.values`,
      found: shown(unknown),
      expected: `one of: ${SideEffectKind.options.join(', ')}`,
      meant: { word: unknown, known: KINDS },
    });
  return problems;
};

type GateUse = {
  /** The nodes of the workflow, when known. */
  readonly nodes?: Nodes;
  /** The timeout of the request, when the effect is known. */
  readonly timeoutMs?: number;
  /** The default audience. */
  readonly audience?: readonly string[];
};

/** Checks everything about a gate except its shape. */
export const gateProblems = (
  gate: Gate,
  { nodes, timeoutMs = timesOf(gate), audience = ['operators'] }: GateUse = {},
): readonly GateProblem[] => [
  ...Object.entries(gate.inputs).flatMap(([name, input]) =>
    inputProblem(name, input).map((problem) => ({ code: 'WORKFLOW_GATE_INPUT', ...problem })),
  ),
  ...expressions(gate),
  ...audiences(gate),
  ...quorum(gate, audience),
  ...times(gate, timeoutMs),
  ...suggestions(gate, nodes),
  ...unused(gate),
];
