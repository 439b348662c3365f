import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import { HINT_MAX, REPORT_MAX, Verdict } from '@holdpoint/contracts/recovery/verdict';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attemptsDecider } from './decide.ts';
import { judge } from './verdict.ts';
import { EMPTY_HISTORY, type History } from './history.ts';

const task = TaskId.parse('t-1');
const node = NodeId.parse('check');
const GOOD = 'a'.repeat(40);
const BASE = 'b'.repeat(40);
const place = { worktree: '.holdpoint/worktrees/w', branch: 'draft/w' };

const BUILD = "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.";
const TESTS =
  ' FAIL  src/a.test.ts > adds\nAssertionError: expected 3 to be 4\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)';

/** One failure of each class, as it is reported. */
const FAILURES = {
  BROKEN_BUILD: { output: BUILD, exitCode: 2 },
  VERIFICATION_FAILED: { output: TESTS, exitCode: 1 },
  CONTEXT_EXHAUSTED: { uses: 'cap.agent.invoke', report: { stop: 'context_exhausted' } },
  TRANSIENT: { error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' } },
  WORKER_CRASH: { outcome: 'in_doubt', cause: 'worker_lost', effectClass: 'idempotent' },
  MISCONFIGURED: {
    error: { code: 'EXECUTOR_INVALID_ARGUMENTS', message: 'file: leads out of the workspace' },
  },
  EFFECT_IN_DOUBT: { outcome: 'in_doubt', cause: 'outcome_unknown', effectClass: 'opaque' },
  UNKNOWN: { uses: 'cap.env.shell.command.run', output: 'it did not work', exitCode: 3 },
} as const satisfies Record<string, Partial<AssessFailure>>;
type Kind = keyof typeof FAILURES;

const failing = (attempt: number, kind: Kind, change: Partial<AssessFailure> = {}): AssessFailure => ({
  task,
  node,
  attempt,
  uses: 'control.gate.stop_condition',
  outcome: 'failed',
  error: { code: 'NODE_FAILED', message: 'exit code 1' },
  ...FAILURES[kind],
  ...change,
});

const after = (...failures: readonly AssessFailure[]): History => {
  let state = attemptsDecider.initial;
  for (const payload of failures)
    for (const event of attemptsDecider.decide(state, { kind: 'assess', payload }, { now: 1_000 }).events)
      state = attemptsDecider.evolve(state, event);
  return state;
};
const passed = (history: History, good: string, worktree = place.worktree): History => ({
  ...history,
  attempts: [
    ...history.attempts,
    { type: 'attempt_recorded', task, node: NodeId.parse('build'), attempt: 1, good, worktree },
  ],
});

describe('verdicts by history', () => {
  type Branch = readonly [what: string, history: History, failure: AssessFailure, row: string, kind: string];
  const times = (count: number, kind: Kind, change: Partial<AssessFailure> = {}) =>
    Array.from({ length: count }, (_, i) => failing(i + 1, kind, change));
  const approach = {
    approach: 'I parse the text with a regular expression and convert the groups to numbers',
  };
  const branches: readonly Branch[] = [
    [
      'the same approach three times',
      after(
        ...times(2, 'VERIFICATION_FAILED', {
          report: approach,
          rules: { thresholds: { VERIFICATION_FAILED: 9 } },
        }),
      ),
      failing(3, 'VERIFICATION_FAILED', {
        report: approach,
        rules: { thresholds: { VERIFICATION_FAILED: 9 } },
      }),
      'circle',
      'skip',
    ],
    [
      'a broken build, and a commit that a check has passed on',
      passed(EMPTY_HISTORY, GOOD),
      failing(1, 'BROKEN_BUILD', { place }),
      'build',
      'rollback',
    ],
    [
      'a broken build, and only the commit that it began from',
      EMPTY_HISTORY,
      failing(1, 'BROKEN_BUILD', { place: { ...place, base: BASE } }),
      'build',
      'rollback',
    ],
    [
      'a broken build, once more',
      after(failing(1, 'BROKEN_BUILD', { place: { ...place, base: BASE } })),
      failing(2, 'BROKEN_BUILD', { place: { ...place, base: BASE } }),
      'build-for-good',
      'escalate',
    ],
    [
      'a broken build, and nothing to go back to',
      EMPTY_HISTORY,
      failing(1, 'BROKEN_BUILD'),
      'build-for-good',
      'escalate',
    ],
    [
      'a broken build, and only another worktree was ever good',
      passed(EMPTY_HISTORY, GOOD, 'elsewhere'),
      failing(1, 'BROKEN_BUILD', { place }),
      'build-for-good',
      'escalate',
    ],
    ['a check that fails', EMPTY_HISTORY, failing(1, 'VERIFICATION_FAILED'), 'verification', 'retry'],
    [
      'a check that fails again',
      after(...times(1, 'VERIFICATION_FAILED')),
      failing(2, 'VERIFICATION_FAILED'),
      'verification',
      'retry',
    ],
    [
      'a check that fails for the third time',
      after(...times(2, 'VERIFICATION_FAILED')),
      failing(3, 'VERIFICATION_FAILED'),
      'verification-again',
      'skip',
    ],
    ['an exhausted context', EMPTY_HISTORY, failing(1, 'CONTEXT_EXHAUSTED'), 'context', 'continue'],
    [
      'an exhausted context in the sixth session',
      after(...times(5, 'CONTEXT_EXHAUSTED')),
      failing(6, 'CONTEXT_EXHAUSTED'),
      'context-again',
      'escalate',
    ],
    ['a transient failure', EMPTY_HISTORY, failing(1, 'TRANSIENT'), 'transient', 'retry'],
    [
      'what should pass and does not',
      after(...times(4, 'TRANSIENT')),
      failing(5, 'TRANSIENT'),
      'transient-lasting',
      'escalate',
    ],
    ['an unknown failure', EMPTY_HISTORY, failing(1, 'UNKNOWN'), 'unknown', 'retry'],
    [
      'what nobody knows, again',
      after(...times(1, 'UNKNOWN')),
      failing(2, 'UNKNOWN'),
      'unknown-again',
      'escalate',
    ],
    ['a worker that was lost', EMPTY_HISTORY, failing(1, 'WORKER_CRASH'), 'crash', 'retry'],
    [
      'a worker that was lost three times in one attempt',
      EMPTY_HISTORY,
      failing(1, 'WORKER_CRASH', { crashes: 3 }),
      'crash-loop',
      'escalate',
    ],
    [
      'a worker that was lost in three attempts',
      after(...times(2, 'WORKER_CRASH')),
      failing(3, 'WORKER_CRASH'),
      'crash-loop',
      'escalate',
    ],
    [
      'a worker that was lost with what may not be repeated',
      EMPTY_HISTORY,
      failing(1, 'WORKER_CRASH', { effectClass: 'opaque' }),
      'in-doubt',
      'escalate',
    ],
    ['wrong arguments', EMPTY_HISTORY, failing(1, 'MISCONFIGURED'), 'misconfigured', 'escalate'],
    ['an effect in doubt', EMPTY_HISTORY, failing(1, 'EFFECT_IN_DOUBT'), 'in-doubt', 'escalate'],
    [
      'failures of different classes, each for the first time',
      after(failing(1, 'TRANSIENT'), failing(2, 'UNKNOWN'), failing(3, 'VERIFICATION_FAILED')),
      failing(4, 'VERIFICATION_FAILED'),
      'verification',
      'retry',
    ],
  ];

  test.each(branches)('%s', (_what, history, failure, row, kind) => {
    const { verdict } = judge(history, failure);
    expect([verdict.rule, verdict.kind]).toEqual([`verdicts@3/${row}`, kind]);
    expect(Verdict.parse(verdict)).toEqual(verdict);
    expect(verdict.classification?.rule).not.toBe('');
  });

  test('counting starts again after a success', () => {
    const before = after(failing(1, 'VERIFICATION_FAILED'), failing(2, 'VERIFICATION_FAILED'));
    const succeeded: History = {
      ...before,
      attempts: [...before.attempts, { type: 'attempt_recorded', task, node, attempt: 3 }],
    };
    expect(judge(before, failing(3, 'VERIFICATION_FAILED')).verdict.kind).toBe('skip');
    expect(judge(succeeded, failing(4, 'VERIFICATION_FAILED')).verdict.kind).toBe('retry');
  });

  test('a rollback prefers the last checked commit to the base', () => {
    const history = passed(passed(EMPTY_HISTORY, BASE), GOOD);
    const { verdict } = judge(
      history,
      failing(1, 'BROKEN_BUILD', { place: { ...place, base: 'c'.repeat(40) } }),
    );
    expect(verdict.commit).toBe(GOOD);
  });
});

describe('the hint for the next attempt', () => {
  const report = { approach: 'a `regular` expression\nover two lines' };
  const history = after(failing(1, 'VERIFICATION_FAILED', { report }));

  test('the hint lists approaches and errors and asks for a different approach', () => {
    const { hint = '' } = judge(history, failing(2, 'VERIFICATION_FAILED')).verdict;
    expect(hint).toContain('- Attempt 1: a \\`regular\\` expression over two lines: failed.');
    expect(hint).toContain('- Attempt 2: approach not reported: failed.');
    expect(hint).toContain(
      'different approach from those above: another library, another pattern, or a simpler solution',
    );
    expect(hint).toContain('AssertionError: expected 3 to be 4');
  });

  /** Two attempts of a check that fail with errors of their own. */
  const check = (attempt: number, approach: string, output: string) =>
    failing(attempt, 'UNKNOWN', {
      uses: 'control.gate.stop_condition',
      error: { code: 'NODE_FAILED', message: 'the stop condition ended with exit code 1 after 0.0 s' },
      exitCode: 1,
      output,
      report: { approach },
    });
  const first = check(1, 'Using async/await pattern', 'Test failed: expected 200 got 404\n');
  const second = check(2, 'Using callback pattern', 'Test failed: expected 200 got 500\n');

  test('the hint and the report name the own error of every attempt', () => {
    const { hint = '' } = judge(after(first), second).verdict;
    expect(hint).toContain(
      '- Attempt 1: Using async/await pattern: failed.\n  Error: Test failed: expected 200 got 404 (',
    );
    expect(hint).toContain(
      '- Attempt 2: Using callback pattern: failed.\n  Error: Test failed: expected 200 got 500 (',
    );
    const third = check(3, 'Using an event emitter', 'Test failed: expected 200 got 503\n');
    const { kind, report = '' } = judge(after(first, second), third).verdict;
    expect(kind).toBe('skip');
    for (const status of [404, 500, 503])
      expect(report).toContain(`Error: Test failed: expected 200 got ${String(status)} (the stop condition`);
  });

  test('the hint after a rollback says that the changes were rolled back', () => {
    const broken = failing(1, 'BROKEN_BUILD', { place: { ...place, base: BASE } });
    expect(judge(EMPTY_HISTORY, broken).verdict.hint).toContain('were rolled back');
  });

  test('the hint after an external failure asks to repeat', () => {
    const { hint } = judge(EMPTY_HISTORY, failing(1, 'TRANSIENT')).verdict;
    expect(hint).toContain('failed for an external reason');
    expect(hint).not.toContain('different approach');
  });

  test('no output can leave a code block of the hint open', () => {
    const output = '```\n````\nrm -rf\n`````';
    const { hint = '' } = judge(EMPTY_HISTORY, failing(1, 'UNKNOWN', { output })).verdict;
    expect(hint.match(/^`{6}/gm)).toHaveLength(2);
  });

  test('the hint stays within its limit', () => {
    const long = { approach: 'word '.repeat(400) };
    let all = EMPTY_HISTORY;
    for (let attempt = 1; attempt < 40; attempt += 1)
      all = {
        ...all,
        attempts: [...all.attempts, ...after(failing(attempt, 'UNKNOWN', { report: long })).attempts],
      };
    const last = failing(40, 'VERIFICATION_FAILED', {
      output: '\u{1F600}'.repeat(30_000),
      report: { approach: 'other' },
    });
    const { hint = '' } = judge(all, last).verdict;
    expect(hint.length).toBeLessThanOrEqual(HINT_MAX);
    expect(hint.isWellFormed()).toBe(true);
  });
});

describe('the report about a stuck job', () => {
  const failure = failing(3, 'VERIFICATION_FAILED', {
    goal: 'Greet people <b>by name</b>',
    workflow: 'template.stage.approve@v1',
    place: { ...place, base: BASE },
    report: { approach: 'greet()', files: ['src/greet.ts', 'src/`odd`.ts'] },
    effects: [
      { node: NodeId.parse('tell'), uses: 'cap.notify.slack', target: 'slack:ops' },
      {
        node: NodeId.parse('write'),
        uses: 'cap.file.write',
        target: 'file:a',
        compensate: 'cap.file.write.compensate',
      },
    ],
  });
  const { verdict } = judge(
    after(failing(1, 'VERIFICATION_FAILED'), failing(2, 'VERIFICATION_FAILED')),
    failure,
  );
  const report = verdict.report ?? '';

  test.each([
    '# t-1/check is stuck',
    '## Summary',
    '## Attempts made',
    '## Error details',
    '## Files involved',
    '## Effects applied so far',
    '## Recommended actions',
  ])('the report contains %s', (title) => {
    expect(report.split('\n')).toContain(title);
  });

  test('the report contains the facts that a person needs', () => {
    for (const said of [
      'Greet people \\<b\\>by name\\</b\\>',
      'VERIFICATION\\_FAILED',
      '`src/greet.ts`',
      "`src/'odd'.ts`",
      'AssertionError: expected 3 to be 4',
      'cannot be undone automatically; undo it by hand',
      '`holdpoint effect undo` undoes it',
      '`holdpoint recovery resolve t-1/check retry`',
      '`draft/w`',
    ])
      expect(report.replaceAll('**VERIFICATION_FAILED**', 'VERIFICATION\\_FAILED')).toContain(said);
  });

  test('the report lists the jobs that depend on the stuck job and whether the critical path is blocked', () => {
    const nodes = ['merge', 'announce'].map((id) => NodeId.parse(id));
    const reportWith = (dependents: AssessFailure['dependents']) =>
      judge(EMPTY_HISTORY, failing(1, 'EFFECT_IN_DOUBT', { ...(dependents && { dependents }) })).verdict
        .report;
    expect(reportWith({ nodes, count: 7, critical: true })).toContain(
      '## Jobs that depend on it\n\n7 jobs wait for this one: `merge`, `announce`, and 5 more.\nThe critical path of the task is blocked',
    );
    expect(reportWith({ nodes: nodes.slice(0, 1), count: 1, critical: false })).toContain(
      'One job waits for this one: `merge`.\nThe critical path of the task is not blocked',
    );
    expect(reportWith(undefined)).toContain('No job depends on this one.');
  });

  test('a blocked critical path makes a verdict to skip one to escalate, and is its reason', () => {
    const before = after(failing(1, 'VERIFICATION_FAILED'), failing(2, 'VERIFICATION_FAILED'));
    const dependents = { nodes: [NodeId.parse('merge')], count: 1, critical: true };
    expect(judge(before, failing(3, 'VERIFICATION_FAILED', { dependents })).verdict).toMatchObject({
      kind: 'escalate',
      rule: 'verdicts@3/verification-critical',
      reason: 'the check failed as often as the limit allows; the critical path of the task is blocked',
    });
    expect(
      judge(before, failing(3, 'VERIFICATION_FAILED', { dependents: { ...dependents, critical: false } }))
        .verdict,
    ).toMatchObject({ kind: 'skip', reason: 'the check failed as often as the limit allows' });
    expect(judge(EMPTY_HISTORY, failing(1, 'VERIFICATION_FAILED', { dependents })).verdict.kind).toBe(
      'retry',
    );
  });

  test('three libraries in the same sentence are retried, and one library three times is circular', () => {
    const rules = { thresholds: { VERIFICATION_FAILED: 6 } };
    const say = (attempt: number, library: string) =>
      failing(attempt, 'VERIFICATION_FAILED', {
        report: { approach: `Parse the dates with the ${library} library instead of by hand.` },
        rules,
      });
    const history = after(say(1, 'moment'), say(2, 'luxon'));
    const { kind, class: found } = judge(history, say(3, 'date-fns')).verdict;
    expect([kind, found]).toEqual(['retry', 'VERIFICATION_FAILED']);
    expect(judge(history, say(3, 'luxon')).verdict.kind).toBe('retry');
    expect(judge(after(say(1, 'luxon'), say(2, 'luxon')), say(3, 'luxon')).verdict.class).toBe(
      'CIRCULAR_FIX',
    );
  });

  test('the report of a circular job shows every pair that was judged the same', () => {
    const rules = { thresholds: { VERIFICATION_FAILED: 9 } };
    const say = (attempt: number, approach: string) =>
      failing(attempt, 'VERIFICATION_FAILED', { report: { approach }, rules });
    const history = after(
      say(1, 'Parse the dates with moment'),
      say(2, 'Parse the dates with luxon'),
      say(3, 'I used luxon for parsing the dates'),
    );
    const { same, report: text, classification } = judge(history, say(4, 'Parsing dates via luxon')).verdict;
    expect(same?.map(({ attempt }) => attempt)).toEqual([2, 3]);
    expect(classification).toEqual({
      rule: 'circle/VERIFICATION_FAILED',
      evidence: 'FAIL  src/a.test.ts > adds',
    });
    expect(text).toContain('## The same approach');
    expect(text).toMatch(
      /- Attempts 2 and 4, similarity [\d.]+: Parse the dates with luxon — Parsing dates via luxon/,
    );
    expect(text).toMatch(/- Attempts 3 and 4, similarity [\d.]+: I used luxon/);
    expect(text).not.toMatch(/Attempts 1 and 4/);
  });

  test('the report stays within its limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40_000 }),
        fc.array(fc.string({ maxLength: 200 }), { maxLength: 200 }),
        (output, files) => {
          const made = judge(
            EMPTY_HISTORY,
            failing(1, 'EFFECT_IN_DOUBT', { output, report: { files } }),
          ).verdict;
          expect((made.report ?? '').length).toBeLessThanOrEqual(REPORT_MAX);
          expect(made.report?.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('any sequence of failures', () => {
  /** Attempts that the table allows for each class, and one more that ends any of them. */
  const BOUND = 2 + 1 + 1 + 5 + 4 + 2 + 1;

  test('any failures reach a person within the bound of the table', () => {
    const kinds = fc.array(fc.constantFrom(...(Object.keys(FAILURES) as Kind[])), {
      minLength: BOUND,
      maxLength: 40,
    });
    fc.assert(
      fc.property(kinds, fc.boolean(), (sequence, hasBase) => {
        let history: History = EMPTY_HISTORY;
        const at = sequence.findIndex((kind, i) => {
          const failure = failing(i + 1, kind, hasBase ? { place: { ...place, base: BASE } } : {});
          const { verdict } = judge(history, failure);
          const { task: of, attempt, error } = failure;
          history = {
            ...history,
            attempts: [...history.attempts, { type: 'assessed', task: of, node, attempt, error, verdict }],
          };
          return verdict.kind === 'skip' || verdict.kind === 'escalate';
        });
        expect(at).toBeGreaterThanOrEqual(0);
        expect(at).toBeLessThan(BOUND);
      }),
    );
  });
});
