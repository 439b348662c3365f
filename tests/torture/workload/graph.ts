import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Random } from '../random.ts';
import { planTrouble, type Trouble, troubled, TROUBLED } from './agent-failures.ts';

/** What the graph of a task is like; the rest of it is the same for all. */
export type GraphPlan = {
  /** Pieces of work beside each other. */
  readonly works: number;
  /** How often the gate has to be tried until it lets pass; `never`: it is spent, and the task fails. */
  readonly tries: number | 'never';
  /** A piece of work that fails, or does not, and what follows the failure alone. */
  readonly routed: 'not' | 'fails' | 'succeeds';
  /** Which of a few locks a piece of work holds that other tasks want as well. */
  readonly lock: string;
  /** How many people have to approve its effect. */
  readonly people: 1 | 2;
  /** An agent whose work is no use for a while, so that recovery has to decide what follows. */
  readonly trouble?: Trouble;
};

const WORKS_MAX = 2;
const TRIES_MAX = 3;
const LOCKS = 3;
const NEVER_SHARE = 0.1;
const TWO_SHARE = 0.4;
const APPROVAL_MS = 6 * 3_600_000;

/** The plan of the n-th task that has a graph. */
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

/** Whether its effect is ever asked for. */
export const asksFor = ({ tries }: GraphPlan): boolean => tries !== 'never';

const idOf = (id: string): NodeId => id as NodeId;
const worksOf = ({ works }: GraphPlan): readonly string[] =>
  Array.from({ length: works }, (_, i) => `work_${String(i + 1)}`);

/** How its task ends once its effect is applied: what fails is a failure of the task, though a route has followed it. */
export const endOf = ({ routed }: GraphPlan): 'completed' | 'failed' =>
  routed === 'fails' ? 'failed' : 'completed';

/** How each node has to stand then, where no person had to say what becomes of one. */
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

/** How often each piece of work has to have been carried out at least by then, and which never. */
export const runsOf = (plan: GraphPlan): Readonly<Record<string, number>> => ({
  ...Object.fromEntries([...worksOf(plan), 'locked'].map((id) => [id, 1])),
  try: plan.tries === 'never' ? 1 : plan.tries,
  ...(plan.routed !== 'not' && { route: 1, fallback: plan.routed === 'fails' ? 1 : 0 }),
  ...(plan.trouble && { agent: 1 }),
});

type Surroundings = {
  readonly task: string;
  /** Absolute path of the file that every script writes to. */
  readonly book: string;
  readonly request: JsonObject;
  readonly target: string;
};

/** A gate of several people, who are reminded, and told so. */
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

/** Nobody waits long for another attempt; and many tasks are given up on purpose, which is no reason to start none. */
const RULES: RecoveryRules = {
  backoff: { firstMs: 200, mostMs: 2_000 },
  circuit: { failures: 10_000, windowMs: 1_000, coolDownMs: 1_000 },
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Five to fifteen nodes: work side by side, work under a lock that others want, a loop, a route, and one effect behind most of it. */
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
      // Whatever becomes of the agent, its effect is asked for.
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
