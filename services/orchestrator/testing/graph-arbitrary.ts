import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { NodeDefinition, Outcome, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import fc from 'fast-check';
import { gatesIn } from './gate-arbitrary.ts';
import {
  agent,
  APPROVAL,
  branch,
  control,
  effect,
  gate,
  lock,
  merge,
  node,
  type Shape,
  shared,
  step,
  text,
} from './graphs.ts';
import { REPOSITORY } from './play.ts';

const NAMES = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'];
const seldom = fc.constantFrom(false, false, false, false, true);
/** One value, weighted against its absence. */
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>, absent: number): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: absent, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const artifacts = fc.subarray([text('x'), shared('y'), branch('z')], { maxLength: 2 });
const steps = fc.constantFrom([], [step('one')], [step('one'), step('two')]);
const makers = [node, node, agent, agent, control, gate, gate, effect, effect, effect, merge] as const;

/** Options of a node, beside its dependencies. */
const traits = fc.record({
  maker: fc.constantFrom(...makers),
  locks: maybe(fc.subarray([lock('k'), lock('l', 'shared')], { minLength: 1 }), 1),
  needs: maybe(artifacts, 1),
  produces: maybe(fc.record({ succeeded: artifacts, failed: artifacts }), 1),
  approval: maybe(fc.constant(APPROVAL), 4),
  guard: maybe(fc.constantFrom('inputs.yes', 'inputs.no', 'nodes.n0.outputs.ok', 'inputs.yes.no.no'), 4),
  repeat: maybe(
    fc.constantFrom(
      { forEach: 'inputs.items' },
      { forEach: 'inputs.items', parallel: 2 },
      { until: 'outputs.ok' },
      { forEach: 'inputs.items', until: 'outputs.ok', parallel: 3 },
      { forEach: 'inputs.yes' },
    ),
    2,
  ),
  around: maybe(fc.record({ before: steps, afterwards: steps, finally: steps }), 2),
  retry: maybe(
    fc.record(
      { mode: fc.constantFrom('never', 'on_failure', 'until_gate'), budget: fc.nat(2) },
      { requiredKeys: ['mode'] },
    ),
    1,
  ),
  onError: maybe(
    fc.record({
      strategy: fc.constantFrom('fail', 'retry', 'pause'),
      maxRetries: fc.nat(2),
      backoff: fc.constantFrom('fixed', 'exponential'),
      delayMs: fc.constantFrom(0, 1_000),
    }),
    2,
  ),
  gatePolicy: maybe(fc.constantFrom('block', 'warn', 'retry'), 2),
  preconditions: maybe(fc.constant([{ kind: 'clean_worktree' as const }]), 5),
  gated: maybe(gatesIn(NAMES), 1),
});

/** Routes: forward on success, to a later node otherwise, or back. */
const links = fc.record({
  after: fc.subarray([...NAMES], { maxLength: 2 }),
  forward: maybe(
    fc.record({ to: fc.nat(), on: fc.constantFrom<Outcome>('succeeded', 'failed', 'blocked', 'cancelled') }),
    1,
  ),
  back: maybe(fc.record({ to: fc.nat(), on: fc.constantFrom<Outcome>('failed', 'failed', 'blocked') }), 1),
});

type Traits = typeof traits extends fc.Arbitrary<infer T> ? T : never;
type Links = typeof links extends fc.Arbitrary<infer L> ? L : never;

const routesOf = ({ forward, back }: Links, at: number, count: number) => {
  const on: Partial<Record<Outcome, string[]>> = {};
  const later = NAMES.slice(at + 1, count);
  const to = forward && later[forward.to % Math.max(1, later.length)];
  if (forward && to !== undefined) on[forward.on] = [to];
  const target = back && NAMES[back.to % (at + 1)];
  if (back && target !== undefined) on[back.on] = [...(on[back.on] ?? []), target];
  return Object.keys(on).length > 0 ? { on } : {};
};

const nodeOf = (
  { traits: t, links: l }: { readonly traits: Traits; readonly links: Links },
  at: number,
  count: number,
): NodeDefinition => {
  const {
    maker,
    repeat,
    around,
    locks,
    needs,
    produces,
    approval,
    guard,
    retry,
    onError,
    gatePolicy,
    preconditions,
    gated,
  } = t;
  const isEffect = maker === effect || maker === merge;
  const isControl = maker === control;
  const shape = {
    after: l.after.filter((name) => NAMES.indexOf(name) < at),
    ...(!isControl || l.forward?.on === 'succeeded' ? routesOf(l, at, count) : {}),
    ...(locks && { locks }),
    ...(needs && { needs }),
    ...(produces && { produces }),
    ...(approval && !isEffect && { approval }),
    ...(guard !== undefined && { guard }),
    ...(repeat && !isEffect && !isControl && repeat),
    ...around,
    ...(retry && { retry: retry as never }),
    ...(onError && { onError }),
    ...(gatePolicy && maker === gate && { gatePolicy }),
    ...(preconditions && { preconditions }),
  };
  const made = maker(NAMES[at] ?? 'n', shape as unknown as Shape);
  return made.effect && gated ? { ...made, effect: { ...made.effect, gate: gated } } : made;
};

export const isSound = (definition: WorkflowDefinition): boolean =>
  definitionProblems(definition).every(({ severity }) => severity !== 'error');

/** Small workflows with every feature of a definition, as far as validation accepts them. */
const definitions: fc.Arbitrary<WorkflowDefinition> = fc
  .record({
    parts: fc.array(fc.record({ traits, links }), { minLength: 2, maxLength: NAMES.length }),
    policy: maybe(
      fc.record({
        failureMode: fc.constantFrom('block_downstream', 'continue_independent'),
        missingProducer: fc.constantFrom('block', 'wait'),
      }),
      1,
    ),
  })
  .map(({ parts, policy }) => ({
    id: 'random',
    version: '1',
    nodes: parts.map((part, at) => nodeOf(part, at, parts.length)),
    ...(policy && { policy }),
  }))
  .filter(isSound);

/** A submission of such a workflow, with or without a repository or a peer. */
export const submissions: fc.Arbitrary<SubmitTask> = fc
  .record({
    definition: definitions,
    inRepository: fc.constantFrom(true, true, true, false),
    after: maybe(fc.constantFrom(['t-9'], ['t-9/last', 't-8']), 5),
    approval: maybe(fc.constantFrom('required', 'none'), 5),
    wild: seldom,
  })
  .map(({ definition, inRepository, after, approval, wild }) => ({
    workflow: 'random',
    goal: 'anything',
    requestedBy: 'linus',
    inputs: { yes: true, no: false, items: wild ? [] : [1, 2, 3] },
    definition,
    ...(inRepository && { repository: REPOSITORY }),
    ...(after && { after: [...after] }),
    ...(approval && { approval }),
  }));
