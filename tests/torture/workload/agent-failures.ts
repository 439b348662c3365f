import { type NodeId, rollbackIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, OnError } from '@holdpoint/contracts/workflow/workflow';
import type { Random } from '../random.ts';

/** How the work of an agent fails: each kind leads to another verdict. */
export const TROUBLES = [
  /** The build is broken: roll back to the last commit. */
  'broken',
  /** A check fails, each time after another approach. */
  'wrong',
  /** A check fails after the same approach. */
  'circle',
  /** The work needs more than one session. */
  'long',
  /** The network of the check is away. */
  'busy',
  /** A failure of no known class. */
  'odd',
] as const;
export type Trouble = { readonly kind: (typeof TROUBLES)[number]; readonly times: number };

/** Enough that some jobs are given up, few enough for a short run. */
const TIMES_MAX: Readonly<Record<Trouble['kind'], number>> = {
  broken: 2,
  wrong: 4,
  circle: 4,
  long: 3,
  busy: 3,
  odd: 3,
};

/** Every other task in turn, so that even a short run has each kind. */
export const planTrouble = (random: Random, turn: number): Trouble | undefined => {
  const kind = turn % 2 === 0 ? TROUBLES[(turn / 2) % TROUBLES.length] : undefined;
  return kind && { kind, times: random.int(1, TIMES_MAX[kind]) };
};

/** An uncommitted file, which a rollback saves. */
export const LEFT = 'left.txt';
/** The file that the check reads, and its first content. */
export const STATE = { file: 'state.txt', first: 'wrong' } as const;

/** So different that no two count as the same approach. */
const APPROACHES = [
  'a cache in front of the parser',
  'read the file from its end, line by line',
  'sort the rows before they are compared',
  'leave the header out and count from zero',
  'ask the service for one page after the other',
] as const;

type Around = {
  readonly task: string;
  readonly quotedBook: string;
  /** Writes a line to the script log. */
  readonly note: (about: string) => string;
};

/** An upper bound for every job. */
const ATTEMPTS_MAX = 20;

/** The tasks of its rollbacks: their ids do not show the task. */
export const rollbacksOf = (task: TaskId): readonly TaskId[] =>
  Array.from({ length: ATTEMPTS_MAX }, (_, i) => rollbackIdOf(task, 'check' as NodeId, i + 1));

const report = (said: object): string => `echo 'HOLDPOINT-REPORT ${JSON.stringify(said)}'`;

const unlike = APPROACHES.map((approach, i) => `${String(i)}) ${report({ approach })} ;;`).join(' ');

const badWork = ({ kind }: Trouble): string => {
  switch (kind) {
    case 'long':
      return `echo part > "part-$n.txt"; ${report({ approach: 'all of it', done: 'a part', next: 'the rest', stop: 'context_exhausted' })}`;
    case 'circle':
      return `echo wrong > ${STATE.file}; ${report({ approach: APPROACHES[0] })}`;
    default:
      return `echo ${kind} > ${STATE.file}; case $((n % ${String(APPROACHES.length)})) in ${unlike} esac`;
  }
};

/** The work fails this often and then succeeds. Each attempt changes something to commit. */
const agentScript = (trouble: Trouble, { task, quotedBook, note }: Around): string =>
  [
    `n=$(grep -c "^ran ${task} agent " ${quotedBook})`,
    note('agent'),
    'echo "$n" > turn.txt',
    `if [ "$n" -ge ${String(trouble.times)} ]; then echo good > ${STATE.file}; ${report({ approach: 'as it was asked for' })}; else ${badWork(trouble)}; fi`,
  ].join('; ');

/** Output of a compiler, a test runner and a network error. */
const checkScript = ({ times }: Trouble, { task, quotedBook, note }: Around): string =>
  [
    `${note('check')};`,
    `case "$(cat ${STATE.file})" in good) exit 0`,
    `;; broken) echo left > ${LEFT}; echo "src/greet.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."; exit 2`,
    `;; busy) test "$(grep -c "^ran ${task} check " ${quotedBook})" -gt ${String(times)} && exit 0; echo 'Error: connect ECONNREFUSED 127.0.0.1:1'; exit 1`,
    `;; odd) echo 'it is odd'; exit 3`,
    `;; *) printf ' FAIL  src/greet.test.ts > greets by name\\nAssertionError: expected 1 to be 2\\n\\n Test Files  1 failed (1)\\n      Tests  1 failed (1)\\n'; exit 1`,
    ';; esac',
  ].join(' ');

const RECOVER: OnError = { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 };
const PROMPT = { type: 'custom', typeId: 'prompt_text', key: 'torture' } as const;
const LOOPS_MAX = 20;
const id = (name: string): NodeId => name as NodeId;

/** An agent in its own worktree and a check of its work. No other node depends on them. */
export const troubled = (trouble: Trouble, around: Around): readonly NodeDefinition[] => {
  const slug = TaskId.parse(around.task);
  const branch = `torture/${slug}`;
  const locks = [{ key: `branch:${branch}`, mode: 'exclusive' as const }];
  const token = 'token=$$-$(date +%s%N)';
  return [
    {
      id: id('place'),
      uses: 'cap.env.builtin.worktree.prepare',
      after: [id('begin')],
      args: { slug, branch },
      locks,
      on: { succeeded: [id('prompt')] },
    },
    {
      id: id('prompt'),
      uses: 'cap.env.builtin.prompt.resolve',
      after: [],
      args: { prompt_text: 'Make the check pass.' },
      produces: { succeeded: [PROMPT] },
      on: { succeeded: [id('agent')] },
    },
    {
      id: id('agent'),
      uses: 'cap.agent.invoke',
      after: [],
      args: {},
      needs: [PROMPT],
      agent: ['sh', '-c', `${token}; ${agentScript(trouble, around)}`],
      onError: RECOVER,
      locks,
      on: { succeeded: [id('commit')] },
    },
    {
      id: id('commit'),
      uses: 'cap.env.builtin.git.stage_commit',
      after: [],
      args: { message: 'work' },
      locks,
      on: { succeeded: [id('check')] },
    },
    {
      id: id('check'),
      uses: 'control.gate.stop_condition',
      after: [],
      args: {},
      script: `${token}; ${checkScript(trouble, around)}`,
      retry: { mode: 'until_gate', budget: LOOPS_MAX },
      onError: RECOVER,
      locks,
      on: { failed: [id('agent')] },
    },
  ];
};

/** The nodes that succeed when no person was needed. */
export const TROUBLED = ['place', 'prompt', 'agent', 'commit', 'check'] as const;
