import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import { CAPABILITIES, CONTROLS, effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { NodeDefinition, SideEffectKind, Step } from '@holdpoint/contracts/workflow/workflow';
import type { Choices } from '../choices.ts';
import { randomGate } from './gates.ts';

type Parts = Partial<NodeDefinition> & Pick<NodeDefinition, 'uses'>;
type Optional = Omit<Partial<NodeDefinition>, 'uses'>;

/** The capabilities that send the node's own arguments to the target. */
export const SENT = Object.keys(CAPABILITIES).filter((uses) => CAPABILITIES[uses]?.stage !== true);

export const kindOf = (uses: string): SideEffectKind => CAPABILITIES[uses]?.kind ?? 'write_external';

/** Arguments that the executor accepts, with a text and a target of their own. */
export const argumentsFor = (uses: string, text: string): JsonObject => {
  const url = `https://${text.replaceAll(/[^A-Za-z0-9]+/g, '-').toLowerCase()}.example/`;
  const file = `simulated/${text}`;
  switch (uses) {
    case 'cap.file.append':
      return { text, file, line: text };
    case 'cap.file.write':
      return { text, file, content: text };
    case 'cap.http.request':
    case 'cap.http.keyed_request':
    case 'cap.http.idempotent_request':
      return { text, url, method: 'PUT' };
    case 'cap.notify.webhook':
      return { text, url, secrets: ['${secret:HOOK}'], type: 'simulated', data: text };
    case 'cap.notify.discord':
      return { text, webhook: '${secret:HOOK}', content: text };
    case 'cap.notify.slack':
      return { text, webhook: '${secret:HOOK}' };
    case 'cap.env.shell.command.run.compensate':
    case 'cap.env.shell.cicd.run.compensate':
      return { text, args: { with: { compensate: 'true' } } };
    default:
      return { text };
  }
};

const LEADS_OUT = 0.2;
/** Only the rendered path shows that it leads out of the workspace. */
export const leadingOut = ({ file, ...args }: JsonObject): JsonObject =>
  typeof file === 'string' ? { ...args, file: `{{ "../" }}${file}` } : args;

const WORK = [
  'cap.agent.invoke',
  'cap.env.shell.command.run',
  'cap.env.builtin.prompt.resolve',
  'cap.env.builtin.plan.persist',
  'cap.env.builtin.git.stage_commit',
];
/** Agents fail in ways that recovery handles. */
const AGENT = 'cap.agent.invoke';
const AROUND = ['cap.env.shell.command.run', 'cap.env.builtin.worktree.prepare'];
const GATES = ['control.gate.stop_condition', 'control.gate.cicd', 'control.gate.conflict_resolution'];
const MERGE = 'cap.env.builtin.git.integrate_plan_branch';

const RECOVERS = 0.45;
const APPROVAL_MS = [5_000, 5 * 60_000] as const;
const AUDIENCE = ['operators'];
/** Requesters who name approvers outside the policy floor, or nobody. */
const WEAKENED = [['others'], ['user:mallory'], []];
const WEAKENS = 0.15;

/** Random draws of one node, each with its own label. */
const drawFor = (choices: Choices, place: string) => ({
  chance: (what: string, probability: number): boolean => choices.happens(`${what} ${place}`, probability),
  pick: <Item>(what: string, items: readonly Item[]): Item => choices.pick(`${what} ${place}`, items),
  gate: (timeoutMs: number) => randomGate(choices, place, timeoutMs),
  whole: (what: string, from: number, to: number): number =>
    Math.floor(choices.between(`${what} ${place}`, from, to)),
});
type Draw = ReturnType<typeof drawFor>;

/** A gate with its timeout and its template. */
const gated = (draw: Draw, approvalTimeoutMs: number) => {
  const gate = draw.gate(approvalTimeoutMs);
  return { approvalTimeoutMs, ...(gate !== undefined && { gate }) };
};

const effectOf = (
  draw: Draw,
  uses: string,
  kind: SideEffectKind,
  place: string,
  probe?: string,
): Optional => ({
  effect: {
    kind,
    effectClass: effectClassOf(uses, kind, { probe: probe !== undefined }) ?? 'opaque',
    ...(probe !== undefined && { probe }),
    idempotencyKey: `key of ${place}`,
    target: `simulated:${place}`,
    pool: DEFAULT_POOL,
    audience: draw.chance('weakens', WEAKENS) ? draw.pick('weak audience', WEAKENED) : AUDIENCE,
    ...gated(draw, draw.whole('timeout', ...APPROVAL_MS)),
  },
});

const KINDS = [
  'work',
  'work',
  'work',
  'work',
  'gate',
  'effect',
  'script effect',
  'merge',
  'control',
  'ask',
] as const;

/** The capability of the node; all other parts depend on it. */
const randomUse = (draw: Draw, place: string): Parts => {
  const kind = draw.pick('kind', KINDS);
  switch (kind) {
    case 'work': {
      const uses = draw.pick('work', WORK);
      return uses === AGENT ? { uses, agent: ['agent'] } : { uses, script: 'true' };
    }
    case 'gate': {
      const gatePolicy = draw.pick('policy', ['block', 'warn', 'retry'] as const);
      return {
        uses: draw.pick('gate', GATES),
        ...(draw.chance('scripted', 0.9) && { script: 'check' }),
        ...(draw.chance('has a policy', 0.6) && { gatePolicy }),
      };
    }
    case 'effect': {
      const uses = draw.pick('effect', SENT);
      const args = argumentsFor(uses, place);
      return {
        uses,
        ...(draw.chance('leads out', LEADS_OUT) && { args: leadingOut(args) }),
        ...effectOf(draw, uses, kindOf(uses), place),
      };
    }
    case 'script effect': {
      const uses = 'cap.env.shell.command.run';
      const probe = draw.chance('has a probe', 0.6) ? 'is it deployed?' : undefined;
      return { uses, script: 'deploy', ...effectOf(draw, uses, 'deploy', place, probe) };
    }
    case 'merge':
      return { uses: MERGE, ...effectOf(draw, MERGE, 'merge', place) };
    case 'control':
      return { uses: 'control.prepare' };
    case 'ask':
      return { uses: 'control.gate.approval', ...approvalOf(draw) };
  }
};

const approvalOf = (draw: Draw): Optional => ({
  approval: { audience: AUDIENCE, timeoutMs: draw.whole('start timeout', ...APPROVAL_MS) },
});

/** An artifact with the scope of the run, of the shared tasks, or of the repository. */
const randomArtifact = (draw: Draw, what: string): Artifact => {
  const number = String(draw.whole(`which ${what}`, 0, 3));
  return draw.pick<Artifact>(`${what} of`, [
    { type: 'custom', typeId: 'operation_output', key: `o-${number}` },
    { type: 'custom', typeId: 'thing', key: `s-${number}` },
    { type: 'custom', typeId: 'thing', key: `s-${number}` },
    { type: 'merge_sentinel', slug: `m-${number}` },
  ]);
};

const artifacts = (draw: Draw): Optional => {
  const succeeded = draw.chance('makes', 0.4) && {
    succeeded: [randomArtifact(draw, 'made'), randomArtifact(draw, 'also made')],
  };
  const failed = draw.chance('makes by failing', 0.05) && {
    failed: [randomArtifact(draw, 'made by failing')],
  };
  return {
    ...((succeeded !== false || failed !== false) && { produces: { ...succeeded, ...failed } }),
    ...(draw.chance('needs', 0.2) && { needs: [randomArtifact(draw, 'needed')] }),
  };
};

const locks = (draw: Draw): Optional =>
  draw.chance('locks', 0.3)
    ? {
        locks: Array.from({ length: draw.whole('how many locks', 1, 3) }, (_, i) => ({
          key: `k-${String(draw.whole(`key ${String(i)}`, 0, 3))}`,
          mode: draw.pick(`mode ${String(i)}`, ['exclusive', 'exclusive', 'shared'] as const),
        })),
      }
    : {};

const steps = (draw: Draw, what: string, probability: number): Step[] =>
  draw.chance(what, probability) ? [{ uses: draw.pick(`${what} uses`, AROUND), args: { text: what } }] : [];

/** Steps around the node, and its repetitions. */
const repeats = (draw: Draw, { effect, uses }: Parts): Optional => {
  if (uses === 'control.prepare' || uses === 'control.gate.approval') return {};
  const before = steps(draw, 'before', 0.12);
  const afterwards = steps(draw, 'afterwards', 0.12);
  const last = steps(draw, 'finally', 0.12);
  return {
    ...(before.length > 0 && { before }),
    ...(afterwards.length > 0 && { afterwards }),
    ...(last.length > 0 && { finally: last }),
    ...(effect === undefined &&
      draw.chance('each', 0.1) && {
        forEach: draw.pick('items', ['[1, 2, 3]', '[]', 'nodes.n0.outputs.list']),
        parallel: draw.whole('side by side', 1, 4),
      }),
    ...(effect === undefined && draw.chance('until', 0.08) && { until: 'outputs.coin > 1' }),
  };
};

const GUARDS = [
  'nodes.n0.outputs.coin > 0',
  "nodes.n0.status == 'succeeded'",
  "task.id != ''",
  'nodes.n0.outputs.coin.nothing.at.all',
];

/** Guards and failure policy. */
const rules = (draw: Draw): Optional => ({
  ...(draw.chance('retry', 0.35) && {
    retry: {
      mode: draw.pick('retry mode', ['never', 'on_failure', 'until_gate'] as const),
      ...(draw.chance('budget', 0.7) && { budget: draw.whole('budget of', 0, 3) }),
    },
  }),
  ...(draw.chance('on error', 0.15) && {
    onError: {
      strategy: draw.pick('strategy', ['fail', 'retry', 'pause'] as const),
      maxRetries: draw.whole('retries', 0, 3),
      backoff: draw.pick('backoff', ['fixed', 'exponential'] as const),
      delayMs: draw.whole('delay', 0, 3_000),
    },
  }),
  ...(draw.chance('guard', 0.1) && { guard: draw.pick('guard', GUARDS) }),
  ...(draw.chance('preconditions', 0.08) && { preconditions: [{ kind: 'clean_worktree' as const }] }),
  ...(draw.chance('approval', 0.08) && approvalOf(draw)),
});

/** Whether recovery handles a failure. Then the node may have no policy of its own. */
const recovering = (draw: Draw, { uses, retry }: Parts): Optional => {
  if (CONTROLS.has(uses) || !draw.chance('recovers', RECOVERS)) return {};
  const { mode } = retry ?? {};
  return {
    onError: { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 },
    gatePolicy: undefined,
    ...(retry && { retry: { ...retry, mode: mode === 'on_failure' ? 'until_gate' : retry.mode } }),
  };
};

/** An effect with a compensation. */
export const undoable = (choices: Choices, place: string): Parts => {
  const draw = drawFor(choices, place);
  const uses = draw.pick('what', ['cap.file.write', MERGE]);
  return { uses, ...effectOf(draw, uses, kindOf(uses), place) };
};

/** A script with an external effect and a probe. */
export const probedScript = (choices: Choices, place: string): Parts => {
  const uses = 'cap.env.shell.command.run';
  const draw = drawFor(choices, place);
  return { uses, script: 'deploy', ...effectOf(draw, uses, 'deploy', place, 'is it deployed?') };
};

export const randomParts = (choices: Choices, place: string): Parts => {
  const draw = drawFor(choices, place);
  const use = randomUse(draw, place);
  const parts = { ...artifacts(draw), ...locks(draw), ...rules(draw), ...repeats(draw, use), ...use };
  const { gatePolicy, ...all } = { ...parts, ...recovering(draw, parts) };
  return { ...all, ...(gatePolicy !== undefined && { gatePolicy }) };
};
