import { CAPABILITIES, CONTROLS, effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { Outcome } from '@holdpoint/contracts/workflow/workflow';
import fc from 'fast-check';

const LABELS = [...Object.keys(CAPABILITIES), ...CONTROLS];
const IDS = ['a', 'b', 'c', 'd', 'e', 'constructor', '__proto__', 'a-b'];

/** Expressions that are true or false. */
const RIGHT: readonly string[] = [
  'true',
  'false',
  'outputs.exit_code == 0',
  'nodes.a.outputs.x is defined',
  'nodes.a.exit_code == 0',
  'inputs.list',
  '[1, 2, 3]',
  '[]',
  'inputs["__proto__"]',
  'item',
  '1 / 0',
  '"x" * 100000000',
];
export const EXPRESSIONS: readonly string[] = [...RIGHT, 'range(3)', 'nope.x', '{{'];
/** Mostly a value of the first list, sometimes one of the second. */
const mostly = <Value>(good: readonly Value[], bad: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );
const seldom = <Value>(value: fc.Arbitrary<Value>, freq = 6): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined, freq });
/** Mostly absent, unlike `fc.option`. */
const rarely = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const expression = mostly(RIGHT, EXPRESSIONS);
const label = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('cap.env.shell.command.run', 'control.gate.stop_condition', 'cap.file.append'),
  },
  { weight: 6, arbitrary: fc.constantFrom(...LABELS) },
);
const UNKNOWN = ['cap.unknown', 'cap.__proto__', 'control.gate.other'];
const WORK = LABELS.filter((uses) => uses.startsWith('cap.') && CAPABILITIES[uses]?.work === true);
const artifact = fc.constantFrom<object>(
  { type: 'custom', typeId: 'prompt_text', key: 'k' },
  { type: 'custom', typeId: 'report', key: 'k' },
  { type: 'custom', typeId: '__proto__', key: 'constructor' },
  { type: 'plan_doc', slug: 's', branch: '' },
  { type: 'target_branch', name: 'main' },
);
const artifacts = fc.array(artifact, { maxLength: 2 });
const step = fc.record({
  uses: mostly(WORK, [...LABELS, ...UNKNOWN]),
  args: fc.constantFrom({}, { script: 'true' }, { script: '{{ item }}' }),
});
const steps = fc.array(step, { maxLength: 2 });
const effect = (uses: string) => {
  const known = Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined;
  return fc.record({
    kind: mostly([known?.kind ?? 'write_external'], ['other']),
    effectClass: mostly(
      [effectClassOf(uses, known?.kind ?? 'write_external') ?? 'opaque'],
      ['keyed', 'opaque'],
    ),
    idempotencyKey: mostly(['k', 'k-{{ task.id }}'], ['{{ nope }}']),
    target: fc.constantFrom('file:x', '{{ inputs.x }}'),
    pool: fc.constant('default'),
    audience: fc.constant(['operators']),
    approvalTimeoutMs: fc.constantFrom(1_000, 60_000),
  });
};

const routes = (ids: fc.Arbitrary<string>) =>
  fc.record(
    Object.fromEntries(Outcome.options.map((outcome) => [outcome, fc.array(ids, { maxLength: 2 })])),
    { requiredKeys: [] },
  );

const needsEffect = (uses: string): boolean => {
  const known = Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined;
  return known !== undefined && (known.work !== true || known.kind !== undefined);
};
const mayBeEffect = (uses: string): boolean => uses.startsWith('cap.') && !uses.endsWith('.preview');

/** A node mostly follows earlier ones and leads to later ones. It leads back only on failure. */
const nodeAt = (place: number, count: number): fc.Arbitrary<object> => {
  const earlier = IDS.slice(0, Math.max(1, place));
  const later = place + 1 < count ? IDS.slice(place + 1, count) : [];
  const back = fc.record({ failed: fc.array(fc.constantFrom(...earlier), { maxLength: 1 }) });
  const onward = later.length === 0 ? back : routes(fc.constantFrom(...later));
  const anywhere = fc.constantFrom(...IDS, 'nobody');
  return label.chain((uses) =>
    fc
      .record({
        uses: fc.constant(uses),
        after:
          place === 0
            ? fc.constant([])
            : fc.oneof(
                { weight: 40, arbitrary: fc.uniqueArray(fc.constantFrom(...earlier), { maxLength: 2 }) },
                { weight: 1, arbitrary: fc.array(anywhere, { maxLength: 2 }) },
              ),
        on:
          uses === 'control.terminal'
            ? fc.constant(undefined)
            : fc.oneof(
                { weight: 10, arbitrary: rarely(back) },
                { weight: 10, arbitrary: rarely(onward) },
                { weight: 1, arbitrary: routes(anywhere) },
              ),
        args: fc.constantFrom<object>({}, { script: 'true' }, { file: 'x', line: '{{ inputs.x }}' }),
        needs: rarely(artifacts),
        produces: rarely(fc.record({ succeeded: artifacts, failed: artifacts }, { requiredKeys: [] })),
        locks: rarely(
          fc.array(
            fc.record({
              key: fc.constantFrom('k', '__proto__'),
              mode: fc.constantFrom('shared', 'exclusive'),
            }),
            { maxLength: 2 },
          ),
        ),
        preconditions: rarely(fc.constant([{ kind: 'clean_worktree' }])),
        approval: rarely(fc.constant({ audience: ['operators'], timeoutMs: 1_000 })),
        script: seldom(fc.constant('true'), 2),
        fixScript: rarely(fc.constant('true')),
        autoResolve: rarely(fc.boolean()),
        gatePolicy: rarely(fc.constantFrom('block', 'warn', 'retry')),
        retry: rarely(
          fc.record({
            mode: fc.constantFrom('never', 'on_failure', 'until_gate'),
            budget: fc.integer({ min: 0, max: 3 }),
          }),
        ),
        agent: uses === 'cap.agent.invoke' ? seldom(fc.constant(['agent'])) : rarely(fc.constant(['agent'])),
        guard: rarely(expression),
        before: rarely(steps),
        afterwards: rarely(steps),
        finally: rarely(steps),
        forEach: rarely(expression),
        parallel: rarely(fc.integer({ min: 1, max: 3 })),
        until: rarely(expression),
        timeoutMs: rarely(fc.constant(1_000)),
        effect: needsEffect(uses) ? seldom(effect(uses), 30) : rarely(effect(uses)),
        onError: rarely(
          fc.record({
            strategy: fc.constantFrom('fail', 'retry', 'pause', 'recover', 'recover', 'recover'),
            maxRetries: fc.integer({ min: 0, max: 3 }),
            backoff: fc.constantFrom('fixed', 'exponential'),
            delayMs: fc.constantFrom(0, 1_000),
          }),
        ),
      })
      .map(({ effect: declared, forEach, ...node }) => {
        const sole = declared === undefined && forEach !== undefined ? { forEach } : {};
        const gated = declared !== undefined && mayBeEffect(uses) ? { effect: declared } : {};
        return JSON.parse(JSON.stringify({ id: IDS[place], ...node, ...gated, ...sole })) as object;
      }),
  );
};

/** Exhausted by the first attempt, or never. */
const budget = fc.record(
  {
    tokens: fc.constantFrom(1, 250, 1_000_000),
    costUsd: fc.constantFrom(0.05, 1_000),
    workMs: fc.constantFrom(1_000, 3_600_000),
    audience: fc.constant(['group:leads']),
  },
  { requiredKeys: ['tokens'] },
);

/** Recovery rules, some of them invalid, some slow if they were accepted. */
const PATTERNS = ['x', '(?i)exit', '(a+)+$', '(?=x)', '(', '.{0,900}.{0,900}x', '^', '\\b'];
const ruleSaid = fc.record(
  {
    id: fc.constantFrom('a', 'b', 'constructor'),
    class: fc.constantFrom(...FailureClass.options),
    pattern: fc.constantFrom(...PATTERNS),
    exitCodes: fc.constantFrom([1], [0, 255]),
    errors: fc.constant(['NODE_FAILED']),
    uses: fc.constantFrom('cap.*', 'control.gate.*', '*'),
  },
  { requiredKeys: ['id', 'class'] },
);
const rules = fc.record(
  {
    rules: fc.array(ruleSaid, { maxLength: 3 }),
    thresholds: fc.dictionary(fc.constantFrom(...FailureClass.options), fc.constantFrom(1, 2, 5, 100), {
      maxKeys: 3,
    }),
    backoff: fc.constantFrom({ firstMs: 0, mostMs: 0 }, { firstMs: 1, mostMs: 60_000 }),
    circular: fc.constantFrom({ attempts: 2 }, { similarity: 0 }, { similarity: 1 }),
    continues: fc.constantFrom(0, 1, 100),
    circuit: fc.constant({ failures: 1, windowMs: 1_000, coolDownMs: 1_000 }),
  },
  { requiredKeys: [] },
);

/** Workflows of a few nodes with every field, valid and invalid. */
export const definitions: fc.Arbitrary<object> = fc
  .integer({ min: 1, max: IDS.length })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, place) => nodeAt(place, count))))
  .chain((nodes) =>
    fc.record(
      {
        id: fc.constant('fuzz.flow'),
        version: fc.constant('v1'),
        policy: fc.record(
          {
            failureMode: fc.constantFrom('block_downstream', 'continue_independent'),
            missingProducer: fc.constantFrom('block', 'wait'),
            budget,
          },
          { requiredKeys: ['failureMode', 'missingProducer'] },
        ),
        recovery: rules,
        nodes: fc.constant(nodes),
      },
      { requiredKeys: ['id', 'version', 'nodes'] },
    ),
  );
