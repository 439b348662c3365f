import type { Artifact } from '@holdpoint/contracts/workflow/artifact';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { EffectDeclaration, Lock, NodeDefinition, Step } from '@holdpoint/contracts/workflow/workflow';

export const id = (name: string): NodeId => NodeId.parse(name);
export const ids = (...names: readonly string[]): NodeId[] => names.map(id);

export type Shape = Partial<Omit<NodeDefinition, 'id' | 'after' | 'on'>> & {
  readonly after?: readonly string[];
  readonly on?: Readonly<
    Partial<Record<'succeeded' | 'failed' | 'blocked' | 'cancelled', readonly string[]>>
  >;
};

/** A node with a shell command, unless `change` says otherwise. */
export const node = (name: string, { after = [], on, ...shape }: Shape = {}): NodeDefinition => ({
  id: id(name),
  uses: 'cap.env.shell.command.run',
  after: ids(...after),
  args: {},
  ...(on && { on: Object.fromEntries(Object.entries(on).map(([outcome, to]) => [outcome, ids(...to)])) }),
  ...shape,
});
/** A node that the orchestrator ends by itself. */
export const control = (name: string, shape: Shape = {}): NodeDefinition =>
  node(name, { uses: 'control.prepare', ...shape });
export const gate = (name: string, shape: Shape = {}): NodeDefinition =>
  node(name, { uses: 'control.gate.stop_condition', script: 'check', ...shape });

const declared = {
  idempotencyKey: 'once',
  target: 'file:somewhere',
  pool: 'default',
  audience: ['operators'],
  approvalTimeoutMs: 60_000,
} as const;
const withAudience = (
  change: Partial<EffectDeclaration>,
  base: Omit<EffectDeclaration, keyof typeof declared>,
) => ({
  ...declared,
  audience: [...declared.audience],
  ...base,
  ...change,
});
/** An effect without a stage capability: its outputs are returned as they are. */
export const effect = (
  name: string,
  shape: Shape = {},
  change: Partial<EffectDeclaration> = {},
): NodeDefinition =>
  node(name, {
    uses: 'cap.file.append',
    args: { file: 'somewhere', line: 'a line' },
    effect: withAudience(change, { kind: 'write_external', effectClass: 'keyed' }),
    ...shape,
  });
/** An effect with a preview. */
export const merge = (name: string, shape: Shape = {}): NodeDefinition =>
  node(name, {
    uses: 'cap.env.builtin.git.integrate_plan_branch',
    effect: withAudience({}, { kind: 'merge', effectClass: 'fenced' }),
    ...shape,
  });
/** A gate without texts, unless `change` adds them. */
export const template = (change: Partial<Gate> = {}): Gate => ({
  id: 'checked',
  version: '1',
  inputs: {},
  given: {},
  loadContext: [],
  request: { onOpen: [] },
  policy: {},
  timeoutMs: {},
  onDecision: {},
  resumePolicy: 'decision',
  resumeBranches: [],
  recovery: {},
  constraints: [],
  ...change,
});
/** An effect with such a gate. */
export const gatedEffect = (name: string, gate: Partial<Gate> = {}, shape: Shape = {}): NodeDefinition =>
  effect(name, shape, { gate: template(gate) });
/** A node of an agent. */
export const agent = (name: string, shape: Shape = {}): NodeDefinition =>
  node(name, { agent: ['agent'], ...shape });
export const APPROVAL = { audience: ['operators'], timeoutMs: 60_000 };

export const step = (command: string): Step => ({ uses: 'cap.env.shell.command.run', args: { command } });
export const lock = (key: string, mode: Lock['mode'] = 'exclusive'): Lock => ({ key, mode });
/** Scopes: run, shared by all runs, repository. */
export const text = (key: string): Artifact => ({ type: 'custom', typeId: 'plan_text', key });
export const shared = (key: string): Artifact => ({ type: 'custom', typeId: 'thing', key });
export const branch = (name: string): Artifact => ({ type: 'target_branch', name });

export const chain = (...names: readonly string[]): readonly NodeDefinition[] =>
  names.map((name, index) => node(name, { after: names.slice(Math.max(0, index - 1), index) }));

/** An event in short: type, node, attempt. */
export const brief = (event: TaskEvent): string => {
  if (event.type === 'restarted') return `restarted ${event.nodes.join(',')}`;
  if (!('node' in event) || event.node === undefined)
    return 'outcome' in event && event.outcome !== undefined ? `${event.type} ${event.outcome}` : event.type;
  const of = 'step' in event && event.step !== undefined ? `.${event.step}` : '';
  const attempt = 'attempt' in event && event.attempt > 1 ? `#${String(event.attempt)}` : '';
  const outcome = 'outcome' in event ? ` ${event.outcome}` : '';
  const wait = event.type === 'node_waiting' ? ` ${event.wait.kind}: ${event.wait.detail}` : '';
  return `${event.type} ${event.node}${of}${attempt}${outcome}${wait}`;
};
