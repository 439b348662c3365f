import { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemText } from '../problems/problem.ts';
import { readRecoveryRules } from './read-rules.ts';

const FILE = '.holdpoint/recovery.toml';

const rulesIn = (text: string): RecoveryRules => {
  const { rules, problems } = readRecoveryRules(text, FILE);
  expect(problems).toEqual([]);
  if (rules === undefined) throw new Error('no rules');
  return rules;
};

const faults = (text: string): readonly string[] =>
  readRecoveryRules(text, FILE).problems.map(
    ({ code, path }) => `${code.replace('WORKFLOW_RECOVERY_', '')} ${path}`,
  );

const FULL = `
[[rules]]
id = "registry"
class = "TRANSIENT"
pattern = '(?i)registry .*(timed out|reset)'
uses = "cap.env.*"

[[rules]]
id = "licence"
class = "UNKNOWN"
exit_codes = [77, 78]
errors = ["NODE_FAILED"]

[thresholds]
VERIFICATION_FAILED = 4
WORKER_CRASH = 2

[backoff]
first = "250ms"
most = "5m"

[circular]
attempts = 4
similarity = 0.85

[continue]
max = 0

[circuit]
failures = 3
window = "1h"
cool_down = "10m"
`;

test('everything that can be said of failures is read', () => {
  const rules = rulesIn(FULL);
  expect(rules).toEqual({
    rules: [
      {
        id: 'registry',
        class: 'TRANSIENT',
        pattern: '(?i)registry .*(timed out|reset)',
        uses: 'cap.env.*',
      },
      { id: 'licence', class: 'UNKNOWN', exitCodes: [77, 78], errors: ['NODE_FAILED'] },
    ],
    thresholds: { VERIFICATION_FAILED: 4, WORKER_CRASH: 2 },
    backoff: { firstMs: 250, mostMs: 300_000 },
    circular: { attempts: 4, similarity: 0.85 },
    continues: 0,
    circuit: { failures: 3, windowMs: 3_600_000, coolDownMs: 600_000 },
  });
  expect(RecoveryRules.parse(rules)).toEqual(rules);
});

test('a file without anything in it changes nothing', () => {
  expect(rulesIn('')).toEqual({});
  expect(rulesIn('[circular]\n[thresholds]\n')).toEqual({ circular: {}, thresholds: {} });
});

const rule = (lines: string): string => `[[rules]]\nid = "r"\nclass = "UNKNOWN"\n${lines}\n`;

describe('what is wrong is said with its place', () => {
  test.each<readonly [what: string, text: string, problems: readonly string[]]>([
    ['no TOML', '[[rules', ['SYNTAX ']],
    ['a key', 'ruls = []', ['KEY_UNKNOWN ruls']],
    ['a key of a rule', rule('patern = "x"'), ['KEY_UNKNOWN rules[0].patern', 'RULE_EMPTY rules[0]']],
    ['a rule without an id', '[[rules]]\nclass = "UNKNOWN"\npattern = "x"\n', ['KEY_MISSING rules[0].id']],
    ['a rule without a class', '[[rules]]\nid = "a"\npattern = "x"\n', ['KEY_MISSING rules[0].class']],
    ['an id', '[[rules]]\nid = "A b"\nclass = "UNKNOWN"\npattern = "x"\n', ['VALUE_INVALID rules[0].id']],
    ['a class', '[[rules]]\nid = "a"\nclass = "FLAKY"\npattern = "x"\n', ['VALUE_INVALID rules[0].class']],
    ['a rule with nothing to go by', rule(''), ['RULE_EMPTY rules[0]']],
    ['a rule that only says where', rule('uses = "cap.agent.invoke"'), ['RULE_EMPTY rules[0]']],
    ['two rules of one name', rule('pattern = "x"') + rule('pattern = "y"'), ['RULE_TWICE rules[1].id']],
    ['a pattern that is not closed', rule('pattern = "(x"'), ['PATTERN rules[0].pattern']],
    ['a pattern that looks ahead', rule('pattern = "x(?!y)"'), ['PATTERN rules[0].pattern']],
    ['a pattern that refers back', rule("pattern = '(x)\\1'"), ['PATTERN rules[0].pattern']],
    ['an empty pattern', rule('pattern = ""'), ['VALUE_INVALID rules[0].pattern']],
    ['a long pattern', rule(`pattern = "${'x'.repeat(1_001)}"`), ['VALUE_INVALID rules[0].pattern']],
    ['a pattern that grows', rule("pattern = '((x{30}){30}){7}'"), ['PATTERN rules[0].pattern']],
    ['an exit code', rule('exit_codes = [256]'), ['VALUE_INVALID rules[0].exit_codes[0]']],
    ['no exit codes', rule('exit_codes = []'), ['VALUE_INVALID rules[0].exit_codes']],
    ['a label', rule('pattern = "x"\nuses = "cap.*.run"'), ['USES rules[0].uses']],
    ['a threshold of no class', '[thresholds]\nVERIFICATION = 3\n', ['KEY_UNKNOWN thresholds.VERIFICATION']],
    ['a threshold of none', '[thresholds]\nUNKNOWN = 0\n', ['VALUE_INVALID thresholds.UNKNOWN']],
    [
      'a circle among the thresholds',
      '[thresholds]\nCIRCULAR_FIX = 3\n',
      ['THRESHOLD thresholds.CIRCULAR_FIX'],
    ],
    [
      'sessions among them',
      '[thresholds]\nCONTEXT_EXHAUSTED = 3\n',
      ['THRESHOLD thresholds.CONTEXT_EXHAUSTED'],
    ],
    ['doubts among them', '[thresholds]\nEFFECT_IN_DOUBT = 3\n', ['THRESHOLD thresholds.EFFECT_IN_DOUBT']],
    ['half a backoff', '[backoff]\nfirst = "1s"\n', ['KEY_MISSING backoff.most']],
    ['times', '[backoff]\nfirst = "soon"\nmost = "31d"\n', ['TIME backoff.first', 'TIME backoff.most']],
    ['a backoff that shrinks', '[backoff]\nfirst = "2m"\nmost = "1m"\n', ['BACKOFF backoff.first']],
    ['a circle of one', '[circular]\nattempts = 1\n', ['VALUE_INVALID circular.attempts']],
    ['a likeness', '[circular]\nsimilarity = 1.1\n', ['VALUE_INVALID circular.similarity']],
    ['no bound', '[continue]\n', ['KEY_MISSING continue.max']],
    [
      'a circuit without a window',
      '[circuit]\nfailures = 0\ncool_down = "1s"\n',
      ['VALUE_INVALID circuit.failures', 'KEY_MISSING circuit.window'],
    ],
    [
      'a short window',
      '[circuit]\nfailures = 1\nwindow = "10ms"\ncool_down = "1s"\n',
      ['TIME circuit.window'],
    ],
    [
      'more than one thing, all of it at once',
      `${rule('pattern = "("')}[thresholds]\nCIRCULAR_FIX = 1\n[backoff]\nfirst = "x"\nmost = "1s"\n`,
      ['THRESHOLD thresholds.CIRCULAR_FIX', 'TIME backoff.first', 'PATTERN rules[0].pattern'],
    ],
    ['a date', '[backoff]\nfirst = 2020-01-01\nmost = "1s"\n', ['VALUE_INVALID backoff.first']],
    [
      'too many levels',
      `x = ${'['.repeat(41)}${']'.repeat(41)}`,
      [
        'FILE_TOO_DEEP x[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]',
      ],
    ],
    ['too large a file', `# ${'x'.repeat(262_144)}`, ['FILE_TOO_LARGE ']],
    [
      'too many rules',
      Array.from({ length: 101 }, (_, i) => rule('pattern = "x"').replace('"r"', `"r${String(i)}"`)).join(''),
      ['VALUE_INVALID rules'],
    ],
  ])('%s', (_, text, problems) => {
    const read = readRecoveryRules(text, FILE);
    expect(faults(text)).toEqual(problems);
    expect(read.rules).toBeUndefined();
    for (const problem of read.problems) expect(problem.file).toBe(FILE);
  });

  test('a class that is nearly right is guessed', () => {
    const [problem] = readRecoveryRules('[thresholds]\nVERIFICATION_FAILD = 3\n', FILE).problems;
    expect(problem?.nearest).toBe('VERIFICATION_FAILED');
  });

  test('a pattern is shown with what is wrong in it', () => {
    const [problem] = readRecoveryRules(rule('pattern = "a(b"'), FILE).problems;
    expect(problem?.found).toBe('"a(b": missing closing ): `a(b`');
  });
});

test('patterns that are too large in total are not even read', () => {
  // Each is as large as one may be: what is read of them is little, however many there are.
  const large = Array.from({ length: 100 }, (_, i) =>
    rule("pattern = '(\\pL{10}){99}(\\pL{10}){99}(\\pL{10}){99}(\\pL{10}){99}'").replace(
      '"r"',
      `"r${String(i)}"`,
    ),
  ).join('');
  expect(faults(large)).toEqual(['PATTERN rules[3].pattern']);
});

const LINES = [
  ...FULL.split('\n'),
  'pattern = "("',
  'class = "X"',
  'id = 1',
  '[thresholds.UNKNOWN]',
  'first = 1979-05-27',
  '__proto__ = 1',
  'max = -1',
  'similarity = nan',
  '[[thresholds]]',
  '= 1',
];

test('whatever the file holds, it is refused with a reason or becomes rules that keep the contract', () => {
  let made = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 12 }).map((lines) => lines.join('\n')),
        },
        // The file as it is but for one line.
        {
          weight: 4,
          arbitrary: fc
            .tuple(fc.nat(FULL.split('\n').length - 1), fc.constantFrom(...LINES))
            .map(([at, line]) => FULL.split('\n').with(at, line).join('\n')),
        },
        { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
      ),
      (text) => {
        const { rules, problems } = readRecoveryRules(text, FILE);
        for (const problem of problems) {
          expect(problem.code).toMatch(/^WORKFLOW_RECOVERY_[A-Z_]+$/);
          expect(problemText(problem)).toMatch(/^[^\r\n]+$/);
        }
        expect(rules === undefined).toBe(problems.length > 0);
        if (rules === undefined) return;
        made += 1;
        expect(RecoveryRules.parse(rules)).toEqual(rules);
      },
    ),
    { numRuns: 800 },
  );
  expect(made).toBeGreaterThan(20);
});
