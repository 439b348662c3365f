import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Random } from '../random.ts';
import { planTrouble, type Trouble, troubled, TROUBLED } from './agent-failures.ts';

/** The variable parts of a task's graph. */
export type GraphPlan = {
  /** Parallel work nodes. */
  readonly works: number;
  /** Attempts until the gate passes. `never`: its budget ends, and the task fails. */
  readonly tries: number | 'never';
  /** A node that may fail, and the nodes on its failure route. */
  readonly routed: 'not' | 'fails' | 'succeeds';
  /** One of a few locks that tasks compete for. */
  readonly lock: string;
  /** The quorum of its effect. */
  readonly people: 1 | 2;
  /** An agent whose work fails for a while, so that recovery decides. */
  readonly trouble?: Trouble;
};

const WORKS_MAX = 2;
const TRIES_MAX = 3;
const LOCKS = 3;
const NEVER_SHARE = 0.1;
const TWO_SHARE = 0.4;
const APPROVAL_MS = 6 * 3_600_000;

/** The plan of the n-th task with a graph. */
export const planGraph = (random: Random, people: number, turn: number): GraphPlan => {
  const plan = {
    works: random.int(0, WORKS_MAX),
    tries: random.chance(NEVER_SHARE) ? ('never' as const) : random.int(1, TRIES_MAX),
    routed: random.pick(['not', 'fails', 'succeeds'] as const),
    lock: `torture-${String(random.int(1, LOCKS))}`,
    people: random.chance(TWO_SHARE) && people > 1 ? (2 as const) : (1 as const),
  };
  const trouble = planTrouble(random, turn);
  return { ...plan, ...(trouble && { trouble }) };
};

/** Whether its effect is ever requested. */
export const asksFor = ({ tries }: GraphPlan): boolean => tries !== 'never';

const idOf = (id: string): NodeId => id as NodeId;
const worksOf = ({ works }: GraphPlan): readonly string[] =>
  Array.from({ length: works }, (_, i) => `work_${String(i + 1)}`);

/** The end of the task once its effect is applied. A failed node fails the task even on a failure route. */
export const endOf = ({ routed }: GraphPlan): 'completed' | 'failed' =>
  routed === 'fails' ? 'failed' : 'completed';

/** The final status of each node, unless a person decided about one. */
export const standingsOf = (plan: GraphPlan): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(
    ['begin', ...worksOf(plan), 'locked', 'try', 'gate', 'request', 'done'].map((id) => [id, 'succeeded']),
  ),
  ...(plan.routed !== 'not' && {
    route: plan.routed === 'fails' ? 'failed' : 'succeeded',
    fallback: plan.routed === 'fails' ? 'succeeded' : 'unreached',
  }),
  ...(plan.trouble && Object.fromEntries(TROUBLED.map((id) => [id, 'succeeded']))),
});

/** The least number of runs of each work node; 0 for those that must not run. */
export const runsOf = (plan: GraphPlan): Readonly<Record<string, number>> => ({
  ...Object.fromEntries([...worksOf(plan), 'locked'].map((id) => [id, 1])),
  try: plan.tries === 'never' ? 1 : plan.tries,
  ...(plan.routed !== 'not' && { route: 1, fallback: plan.routed === 'fails' ? 1 : 0 }),
  ...(plan.trouble && { agent: 1 }),
});

type Surroundings = {
  readonly task: string;
  /** The absolute path of the script log. */
  readonly book: string;
  readonly request: JsonObject;
  readonly target: string;
};

/** A gate with a quorum and reminders. */
const gateFor = (quorum: number): Gate => ({
  id: 'torture',
  version: '1',
  inputs: {},
  given: {},
  loadContext: ['task'],
  request: { onOpen: [], body: '{{ task.goal }}' },
  policy: { quorum, remindMs: [5_000] },
  timeoutMs: {},
  onDecision: {},
  resumePolicy: 'decision',
  resumeBranches: [],
  recovery: {},
  constraints: [],
});

/** Short retries. Tasks fail on purpose, so the workflow circuit must not open. */
const RULES: RecoveryRules = {
  backoff: { firstMs: 200, mostMs: 2_000 },
  circuit: { failures: 10_000, windowMs: 1_000, coolDownMs: 1_000 },
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Five to fifteen nodes: parallel work, work under a contended lock, a loop, a failure route, and one effect
 * after most of them.
 */
export const graphOf = (
  plan: GraphPlan,
  { task, book, request, target }: Surroundings,
): WorkflowDefinition => {
  const note = (what: string, about: string): string =>
    `echo "${what} ${task} ${about} $token" >> ${quoted(book)}`;
  const shell = (id: string, script: string, more: Partial<NodeDefinition> = {}): NodeDefinition => ({
    id: idOf(id),
    uses: 'cap.env.shell.command.run',
    after: [idOf('begin')],
    args: { script: `token=$$-$(date +%s%N); ${script}` },
    ...more,
  });
  const never = plan.tries === 'never';
  const enough = `test "$(grep -c "^ran ${task} try " ${quoted(book)})" -ge ${String(plan.tries)}`;
  return {
    id: 'torture.graph',
    version: '1',
    policy: {
      // The effect is requested even when the agent fails.
      failureMode: plan.trouble === undefined ? 'block_downstream' : 'continue_independent',
      missingProducer: 'block',
    },
    recovery: RULES,
    nodes: [
      { id: idOf('begin'), uses: 'control.prepare', after: [], args: {} },
      ...worksOf(plan).map((id) => shell(id, note('ran', id))),
      shell(
        'locked',
        [note('begin', plan.lock), 'sleep 0.1', note('ran', 'locked'), note('end', plan.lock)].join('; '),
        {
          locks: [{ key: plan.lock, mode: 'exclusive' }],
        },
      ),
      shell('try', note('ran', 'try')),
      {
        id: idOf('gate'),
        uses: 'control.gate.stop_condition',
        after: [idOf('try')],
        args: {},
        script: never ? 'false' : enough,
        retry: { mode: 'until_gate', budget: never ? 1 : TRIES_MAX },
        on: { failed: [idOf('try')] },
      },
      ...(plan.trouble === undefined
        ? []
        : troubled(plan.trouble, {
            task,
            quotedBook: quoted(book),
            note: (about) => note('ran', about),
          })),
      ...(plan.routed === 'not'
        ? []
        : [
            shell('route', `${note('ran', 'route')}; ${plan.routed === 'fails' ? 'exit 3' : 'exit 0'}`, {
              on: { failed: [idOf('fallback')] },
            }),
            shell('fallback', note('ran', 'fallback'), { after: [] }),
          ]),
      {
        id: idOf('request'),
        uses: 'cap.http.keyed_request',
        after: [...worksOf(plan), 'locked', 'gate'].map(idOf),
        args: request,
        effect: {
          kind: 'write_external',
          effectClass: 'keyed',
          idempotencyKey: 'request',
          target,
          pool: DEFAULT_POOL,
          audience: ['operators'],
          approvalTimeoutMs: APPROVAL_MS,
          ...(plan.people > 1 && { gate: gateFor(plan.people) }),
        },
      },
      { id: idOf('done'), uses: 'control.terminal', after: [idOf('request')], args: {} },
    ],
  };
};
