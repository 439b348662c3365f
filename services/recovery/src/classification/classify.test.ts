import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { ClassRule } from '@holdpoint/contracts/workflow/recovery-rules';
import { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { ErrorCode } from '@holdpoint/contracts/values/errors';
import { isPattern } from '@holdpoint/contracts/values/pattern';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify, type Failure } from './classify.ts';
import { AGENT } from './rules-agent.ts';
import { RULES } from './signs.ts';
import { EVIDENCE_MAX } from './text.ts';

const CHECK = 'cap.env.shell.command.run';
const AGENTS = 'cap.agent.invoke';

const failed = (output: string, more: Partial<Failure> = {}): Failure => ({
  uses: CHECK,
  outcome: 'failed',
  error: { code: 'NODE_FAILED', message: 'the program ended with exit code 1' },
  exitCode: 1,
  output,
  ...more,
});
const text = (...lines: readonly string[]): string => lines.join('\n');

const VITEST = text(
  ' RUN  v5.1.1 /src/project',
  '',
  ' FAIL  a.test.ts > adds',
  'AssertionError: expected 1 to be 2',
  '',
  '      Tests  1 failed (1)',
  '   Duration  300ms',
);
const TSC = `src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.`;

describe('a check with mixed output', () => {
  const cases: readonly (readonly [
    title: string,
    output: string,
    failureClass: FailureClass,
    rule: string,
  ])[] = [
    [
      'a build that does not compile is broken in spite of test output',
      text(TSC, VITEST),
      'BROKEN_BUILD',
      'tsc-error',
    ],
    ['a compile error after the tests is a broken build', text(VITEST, TSC), 'BROKEN_BUILD', 'tsc-error'],
    [
      'tests that print compiler errors count as failed tests',
      VITEST.replace('AssertionError', `${TSC}\nerror[E0308]: mismatched types\nAssertionError`),
      'VERIFICATION_FAILED',
      'vitest-failed',
    ],
    [
      'failed tests about the network count as failed tests',
      VITEST.replace('expected 1', `expected 'connect ECONNREFUSED' to be 'getaddrinfo ENOTFOUND', 1`),
      'VERIFICATION_FAILED',
      'vitest-failed',
    ],
    [
      'a Go package that does not build outweighs failed tests of another',
      text(
        '# example.com/a',
        './a.go:3:2: undefined: x',
        '--- FAIL: TestB (0.00s)',
        'FAIL\texample.com/b\t0.004s',
        'FAIL\texample.com/a [build failed]',
      ),
      'BROKEN_BUILD',
      'go-compile',
    ],
    [
      'waits for the network if a package of Go could not be fetched',
      text(
        '# example.com/a',
        'a_test.go:4:2: github.com/x/y: Get "https://proxy.invalid/x": dial tcp: lookup proxy.invalid: no such host',
        'FAIL\texample.com/a [setup failed]',
      ),
      'TRANSIENT',
      'go-network',
    ],
    [
      'a pip connection failure outweighs the missing package after it',
      text(
        `WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'`,
        'ERROR: No matching distribution found for x',
      ),
      'TRANSIENT',
      'pip-connection',
    ],
    [
      'a compile error after a retried download is a broken build',
      text('warning: spurious network error (1 try remaining): [7] x', 'error[E0308]: mismatched types'),
      'BROKEN_BUILD',
      'rustc-error',
    ],
    [
      'clippy findings are a failed check although cargo reports a compile failure',
      text(
        'error: length comparison to zero',
        '  = note: `-D clippy::len-zero` implied by `-D warnings`',
        'error: could not compile `shop` (lib) due to 1 previous error',
      ),
      'VERIFICATION_FAILED',
      'clippy',
    ],
    [
      'code that does not compile under clippy is a broken build',
      text(
        'error[E0308]: mismatched types',
        '  = note: `-D clippy::len-zero` implied by `-D warnings`',
        'error: could not compile `shop` (lib) due to 2 previous errors',
      ),
      'BROKEN_BUILD',
      'rustc-error',
    ],
    [
      'a full disk is no broken build',
      text(
        '/tmp/cc.s: fatal error: error writing to /tmp/cc.s: No space left on device',
        'make: *** [all] Error 1',
      ),
      'UNKNOWN',
      'disk-full',
    ],
    [
      'running out of memory is no broken build',
      text('g++: fatal error: Killed signal terminated program cc1plus', 'compilation terminated.'),
      'TRANSIENT',
      'killed-compiler',
    ],
    [
      'a check that mentions context limits has no exhausted context',
      text(
        `This model's maximum context length is 8192 tokens`,
        'prompt is too long: 9000 tokens > 8192 maximum',
      ),
      'UNKNOWN',
      'nothing-known',
    ],
    [
      'colored output is classified',
      '\u001B[96msrc/a.ts\u001B[0m:\u001B[93m3\u001B[0m:\u001B[93m7\u001B[0m - \u001B[91merror\u001B[0m\u001B[90m TS2322: \u001B[0mno',
      'BROKEN_BUILD',
      'tsc-error-pretty',
    ],
    [
      'output with Windows line endings is classified',
      text(TSC, '').replaceAll('\n', '\r\n'),
      'BROKEN_BUILD',
      'tsc-error',
    ],
    ['overwritten lines are classified', `compiling 10%\rcompiling 20%\r${TSC}`, 'BROKEN_BUILD', 'tsc-error'],
    [
      'Windows paths are classified',
      String.raw`C:\src\a.ts(3,7): error TS2322: no`,
      'BROKEN_BUILD',
      'tsc-error',
    ],
    [
      'Windows paths of C compilers are classified',
      String.raw`C:\src\a.c:3:7: error: expected ';'`,
      'BROKEN_BUILD',
      'compiler-error-windows',
    ],
    ['is read behind the time of day', `2026-11-22T11:20:33.123Z ${TSC}`, 'BROKEN_BUILD', 'tsc-error'],
    [
      'lines with a package prefix are classified',
      text('web:build: cache miss', `@shop/web:build: ${TSC}`),
      'BROKEN_BUILD',
      'tsc-error',
    ],
    [
      'the end of a long output is classified',
      `${'all is well\n'.repeat(20_000)}${TSC}`,
      'BROKEN_BUILD',
      'tsc-error',
    ],
  ];

  test.each(cases)('%s', (_, output, failureClass, rule) => {
    const { class: found, classification } = classify(failed(output));
    expect([found, classification.rule]).toEqual([failureClass, `classes@2/${rule}`]);
  });
});

describe('an agent', () => {
  const GOES = 'I have updated the callers.';

  test.each([
    ['an agent that exhausted its context', 'Prompt is too long', 'CONTEXT_EXHAUSTED'],
    ['an agent whose provider is busy', 'API Error: 529 {"error":{"type":"overloaded_error"}}', 'TRANSIENT'],
    [
      'an agent with a rate limit',
      `429: would exceed your rate limit of 40,000 input tokens per minute`,
      'TRANSIENT',
    ],
    ['an agent without quota', 'Your credit balance is too low to access the API', 'UNKNOWN'],
    [
      'an agent with an oversized request',
      `API Error: the response exceeded the 32000 output token maximum`,
      'UNKNOWN',
    ],
    ['an agent without a known message', 'I could not find the file.', 'UNKNOWN'],
  ] as const)('%s', (_, line, failureClass) => {
    expect(classify(failed(text(GOES, line), { uses: AGENTS })).class).toBe(failureClass);
  });

  test('the last message of an agent counts', () => {
    const output = text(
      'stream error: stream disconnected; retrying 1/5',
      GOES,
      'prompt is too long: 2 tokens > 1 maximum',
    );
    expect(classify(failed(output, { uses: AGENTS })).class).toBe('CONTEXT_EXHAUSTED');
    expect(
      classify(failed(text('Prompt is too long', GOES, 'API Error: Connection error.'), { uses: AGENTS }))
        .class,
    ).toBe('TRANSIENT');
  });

  test('earlier output of an agent does not count', () => {
    const output = text('context_length_exceeded', 'connect ECONNREFUSED', ...Array<string>(100).fill(GOES));
    expect(classify(failed(output, { uses: AGENTS })).class).toBe('UNKNOWN');
  });

  test('the error of an agent is enough', () => {
    const error = { code: 'NODE_FAILED', message: 'the agent ended: Prompt is too long' };
    expect(classify(failed('', { uses: AGENTS, error })).class).toBe('CONTEXT_EXHAUSTED');
  });

  test('an agent’s report of an exhausted context counts', () => {
    const { class: found, classification } = classify(
      failed('', { uses: AGENTS, report: { stop: 'context_exhausted', next: 'the callers' } }),
    );
    expect([found, classification]).toEqual([
      'CONTEXT_EXHAUSTED',
      { rule: 'classes@2/reported-context', evidence: 'the callers' },
    ]);
  });
});

test('output of an unknown capability is classified as a check unless an agent ran out of context after it', () => {
  const unnamed = (output: string): FailureClass => classify(failed(output, { uses: undefined })).class;
  expect(unnamed(text('Prompt is too long', VITEST))).toBe('VERIFICATION_FAILED');
  expect(unnamed(text(VITEST, 'API Error: Connection error.'))).toBe('VERIFICATION_FAILED');
  expect(unnamed(text(VITEST, 'Prompt is too long'))).toBe('CONTEXT_EXHAUSTED');
});

describe('an effect in doubt', () => {
  const doubt = (more: Partial<Failure>): Failure => failed(TSC, { outcome: 'in_doubt', ...more });

  test.each([undefined, 'idempotent', 'keyed', 'fenced'] as const)(
    'an effect of class %s can be repeated after a lost worker',
    (effectClass) => {
      expect(classify(doubt({ cause: 'worker_lost', effectClass })).class).toBe('WORKER_CRASH');
    },
  );

  test.each(['probeable', 'opaque'] as const)(
    'an effect of class %s cannot be repeated after a lost worker',
    (effectClass) => {
      expect(classify(doubt({ cause: 'worker_lost', effectClass })).class).toBe('EFFECT_IN_DOUBT');
    },
  );

  test.each([undefined, 'outcome_unknown', 'ledger_set_back'] as const)(
    'an in-doubt effect with cause %s stays in doubt',
    (cause) => {
      expect(classify(doubt({ cause, effectClass: 'idempotent' })).class).toBe('EFFECT_IN_DOUBT');
    },
  );

  test('rules of the repository do not apply to in-doubt effects', () => {
    const rules = { rules: [{ id: 'all', class: 'TRANSIENT' as const }] };
    expect(classify(doubt({ rules })).class).toBe('EFFECT_IN_DOUBT');
  });
});

describe('the rules of a repository', () => {
  const rule: ClassRule = {
    id: 'flaky-db',
    class: 'TRANSIENT',
    pattern: 'deadlock detected',
    exitCodes: [1, 2],
    errors: ['NODE_FAILED'],
    uses: 'cap.env.shell.*',
  };
  const ruled = (output: string, more: Partial<Failure> = {}): ReturnType<typeof classify> =>
    classify(failed(output, { rules: { rules: [rule] }, ...more }));

  test('repository rules come before the built-in ones and are named', () => {
    expect(ruled(text(TSC, '  deadlock detected at row 3'))).toEqual({
      class: 'TRANSIENT',
      classification: { rule: 'recovery.toml/flaky-db', evidence: 'deadlock detected at row 3' },
    });
  });

  test.each([
    ['the pattern', TSC, {}],
    ['the exit code', 'deadlock detected', { exitCode: 3 }],
    ['an exit code', 'deadlock detected', { exitCode: undefined }],
    ['the error', 'deadlock detected', { error: { code: 'OTHER', message: '' } }],
    ['the label', 'deadlock detected', { uses: AGENTS }],
    ['a label', 'deadlock detected', { uses: undefined }],
  ])('a repository rule does not apply without %s', (_, output, more) => {
    expect(ruled(output, more as Partial<Failure>).classification.rule).not.toContain('flaky-db');
  });

  test('the first matching repository rule decides', () => {
    const rules: ClassRule[] = [
      { id: 'one', class: 'UNKNOWN', exitCodes: [7] },
      { id: 'two', class: 'BROKEN_BUILD', exitCodes: [1] },
      { id: 'three', class: 'TRANSIENT', exitCodes: [1] },
    ];
    expect(classify(failed(VITEST, { rules: { rules } })).classification.rule).toBe('recovery.toml/two');
  });

  test('a repository rule matches one capability or a prefix', () => {
    const by = (uses: string): string =>
      classify(failed('', { rules: { rules: [{ id: 'x', class: 'TRANSIENT', uses }] } })).classification.rule;
    expect([by(CHECK), by('cap.env.*'), by('cap.env.shell'), by('cap.agent.*')]).toEqual([
      'recovery.toml/x',
      'recovery.toml/x',
      'classes@2/nothing-known',
      'classes@2/nothing-known',
    ]);
  });

  test('patterns run in bounded time, and invalid ones match nothing', () => {
    const output = `${'a'.repeat(60_000)}\n${TSC}`;
    for (const pattern of ['(a*)*zq', '(a|aa)+$zq', '(.*)(.*)(.*)(.*)zq', '(', '(?=a)a']) {
      expect(
        classify(failed(output, { rules: { rules: [{ id: 'x', class: 'TRANSIENT', pattern }] } })).class,
      ).toBe('BROKEN_BUILD');
    }
  });
});

test.each([
  'EXECUTOR_JOURNAL_UNAVAILABLE',
  'EXECUTOR_NOT_APPLIED',
  'EXECUTOR_TARGET_UNAVAILABLE',
  'EXECUTOR_CIRCUIT_OPEN',
  'RUNTIME_UNAVAILABLE',
])('the error %s is transient', (code) => {
  const { class: found, classification } = classify(failed(TSC, { error: { code, message: 'gone' } }));
  expect([found, classification]).toEqual([
    'TRANSIENT',
    { rule: 'classes@2/error-code', evidence: `${code}: gone` },
  ]);
});

test.each([
  'EXECUTOR_CLASS_MISMATCH',
  'EXECUTOR_EFFECT_MISDESCRIBED',
  'EXECUTOR_INVALID_ARGUMENTS',
  'EXECUTOR_PATH_REFUSED',
  'EXECUTOR_REPOSITORY_NOT_ALLOWED',
  'EXECUTOR_SECRET_NOT_ALLOWED',
  'EXECUTOR_SECRET_UNKNOWN',
  'EXECUTOR_TARGET_NOT_ALLOWED',
  'EXECUTOR_UNKNOWN_CAPABILITY',
  'EXECUTOR_WORK_REFUSED',
])('the error %s is certain, so it is never repeated', (code) => {
  const ofStep = { code: 'NODE_FAILED', message: `${code}: no such thing` };
  expect(classify(failed('', { uses: CHECK, exitCode: 1, error: ofStep })).class).toBe('MISCONFIGURED');
  expect(classify(failed('', { error: { code, message: 'no such thing' } }))).toEqual({
    class: 'MISCONFIGURED',
    classification: { rule: 'classes@2/certain-error', evidence: `${code}: no such thing` },
  });
});

test.each([
  [CHECK, 'Test failed: expected 200 got 404'],
  ['cap.env.shell.command.run', 'it went wrong: the server was not ready'],
])('the evidence of an unrecognized failure of %s is its own error line', (uses, line) => {
  const { classification } = classify(failed(`starting\n${line}\n`, { uses }));
  expect(classification.evidence).toBe(line);
});

test.each([
  [69, 'TRANSIENT'],
  [75, 'TRANSIENT'],
  [137, 'TRANSIENT'],
  [143, 'TRANSIENT'],
  [127, 'BROKEN_BUILD'],
  [124, 'UNKNOWN'],
  [1, 'UNKNOWN'],
] as const)('exit code %i without output has its own class', (exitCode, failureClass) => {
  expect(classify(failed('done\n', { exitCode })).class).toBe(failureClass);
});

describe('the rules', () => {
  const table = [...RULES, ...AGENT];

  test('rules have valid patterns and unique ids', () => {
    expect(table.filter(({ pattern }) => !isPattern(pattern)).map(({ id }) => id)).toEqual([]);
    expect(new Set(table.map(({ id }) => id)).size).toBe(table.length);
    expect(table.filter(({ id }) => !/^[a-z0-9][a-z0-9-]{1,60}$/.test(id))).toEqual([]);
  });

  test('rules overrule only existing rules', () => {
    const ids = new Set(RULES.map(({ id }) => id));
    expect(RULES.flatMap(({ overrules = [] }) => overrules).filter((id) => !ids.has(id))).toEqual([]);
  });

  test('no rule classifies a job as circular', () => {
    expect(table.filter(({ class: failureClass }) => failureClass === 'CIRCULAR_FIX')).toEqual([]);
  });
});

/** Fragments of the rules in any order, with terminal control sequences. */
const line = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'error',
        'TS2304',
        ': ',
        'src/a.ts',
        '(1,2)',
        ':3:4',
        'FAIL',
        'E   ',
        '---',
        '===',
        ' RUN  v1.',
        'Duration 1',
        'test',
        '\u001B[31m',
        '\u001B',
        '\r',
        '⎯⎯',
        'tokens',
        'exceeds',
        'context',
        '\uD800',
        '#',
        'ok\t',
        'running 1 test',
      ),
    },
  ),
  { maxLength: 12 },
);
const output = fc
  .array(
    line.map((parts) => parts.join('')),
    { maxLength: 60 },
  )
  .map((lines) => lines.join('\n'));

const anyFailure: fc.Arbitrary<Failure> = fc.record({
  uses: fc.constantFrom(undefined, CHECK, AGENTS, 'control.gate.cicd'),
  outcome: fc.constantFrom('failed', 'failed', 'failed', 'in_doubt'),
  effectClass: fc.constantFrom(undefined, ...EffectClass.options),
  error: fc.record({
    code: fc.constantFrom('OF_TOMORROW', ...ErrorCode.options),
    message: fc.string({ unit: 'binary' }),
  }),
  exitCode: fc.option(fc.integer({ min: 0, max: 255 }), { nil: undefined }),
  output: fc.option(output, { nil: undefined }),
  report: fc.constantFrom(undefined, {}, { stop: 'done' as const }, { stop: 'context_exhausted' as const }),
  cause: fc.constantFrom(undefined, 'worker_lost', 'outcome_unknown'),
  crashes: fc.constantFrom(undefined, 0, 3),
  rules: fc.constantFrom(
    undefined,
    {},
    { rules: [{ id: 'x', class: 'TRANSIENT' as const, pattern: 'context' }] },
  ),
});

test('every failure has one class with evidence that fits into a verdict', () => {
  fc.assert(
    fc.property(anyFailure, (failure) => {
      const found = classify(failure);
      expect(found.classification.rule).toMatch(/^(?:classes@\d+|recovery\.toml)\/[a-z0-9][a-z0-9_.-]*$/);
      expect(found.classification.evidence.length).toBeLessThanOrEqual(EVIDENCE_MAX);
      expect(found.classification.evidence).toBe(found.classification.evidence.trim());
      expect(classify(structuredClone(failure))).toEqual(found);
    }),
    { numRuns: 300 },
  );
});

test('no output takes long to classify', () => {
  const hostile = [
    'a',
    ' ',
    '\n',
    '\u001B[',
    'a:',
    'a.ts:1:2 ',
    '--- ',
    'tokens exceed the ',
    'error ',
    '(1,2): ',
    '=',
    '⎯',
    'E  ',
  ];
  for (const part of hostile) {
    for (const uses of [CHECK, AGENTS, undefined]) {
      const started = performance.now();
      classify(failed(part.repeat(100_000 / part.length), { uses }));
      // It takes tens of milliseconds; a backtracking pattern would take years.
      expect(performance.now() - started).toBeLessThan(10_000);
    }
  }
});
