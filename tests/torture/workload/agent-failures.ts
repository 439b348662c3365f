import { type NodeId, rollbackIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, OnError } from '@holdpoint/contracts/workflow/workflow';
import type { Random } from '../random.ts';

/** In which way the work of an agent is no use for a while: each leads to another verdict. */
export const TROUBLES = [
  /** The build is broken: back to the commit before. */
  'broken',
  /** A check fails, each time after another approach. */
  'wrong',
  /** The same, always by the same approach. */
  'circle',
  /** There is more to do than one session can hold. */
  'long',
  /** What the check talks to is not there. */
  'busy',
  /** Something that nobody has told apart yet. */
  'odd',
] as const;
export type Trouble = { readonly kind: (typeof TROUBLES)[number]; readonly times: number };

/** Enough for some to be given up, and few enough for nobody to wait long. */
const TIMES_MAX: Readonly<Record<Trouble['kind'], number>> = {
  broken: 2,
  wrong: 4,
  circle: 4,
  long: 3,
  busy: 3,
  odd: 3,
};

/** One after the other, so that each of them occurs however short a run is; every other task has none. */
export const planTrouble = (random: Random, turn: number): Trouble | undefined => {
  const kind = turn % 2 === 0 ? TROUBLES[(turn / 2) % TROUBLES.length] : undefined;
  return kind && { kind, times: random.int(1, TIMES_MAX[kind]) };
};

/** A file that nobody commits: what goes back keeps it. */
export const LEFT = 'left.txt';
/** What the check looks at, and how it stands at first. */
export const STATE = { file: 'state.txt', first: 'wrong' } as const;

/** What was tried, so different that nobody takes one for another. */
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
  /** Writes a line into the book: this was carried out. */
  readonly note: (about: string) => string;
};

/** More often than that nothing of a run fails. */
const ATTEMPTS_MAX = 20;

/** The tasks by which its worktree may go back: their names do not tell whose they are. */
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

/** Its work is no use so often, and good from then on. What it changes differs each time, so that there is something to commit. */
const agentScript = (trouble: Trouble, { task, quotedBook, note }: Around): string =>
  [
    `n=$(grep -c "^ran ${task} agent " ${quotedBook})`,
    note('agent'),
    'echo "$n" > turn.txt',
    `if [ "$n" -ge ${String(trouble.times)} ]; then echo good > ${STATE.file}; ${report({ approach: 'as it was asked for' })}; else ${badWork(trouble)}; fi`,
  ].join('; ');

/** As a compiler, a test runner and a network say it. */
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

/** An agent in a worktree of the task's own, and a check of what it has done. Nothing else depends on them. */
export const troubled = (trouble: Trouble, around: Around): readonly NodeDefinition[] => {
  const slug = TaskId.parse(around.task);
  const branch = `torture/${slug}`;
  const locks = [{ key: `branch:${branch}`, mode: 'exclusive' as const }];
  const token = 'token=$$-$(date +%s%N)';
  return [
    {
      id: id('route'),
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

/** Which of its nodes succeed where nobody had to be asked. */
export const TROUBLED = ['route', 'prompt', 'agent', 'commit', 'check'] as const;
