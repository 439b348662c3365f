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

test('every recovery setting is read', () => {
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

test('an empty recovery file has no rules', () => {
  expect(rulesIn('')).toEqual({});
  expect(rulesIn('[circular]\n[thresholds]\n')).toEqual({ circular: {}, thresholds: {} });
});

test.each<readonly [text: string, rules: RecoveryRules]>([
  ['[backoff]\nfirst = "2s"\n', { backoff: { firstMs: 2_000, mostMs: 60_000 } }],
  ['[backoff]\nmost = "5m"\n', { backoff: { firstMs: 1_000, mostMs: 300_000 } }],
  ['[backoff]\nfirst = "2m"\n', { backoff: { firstMs: 120_000, mostMs: 120_000 } }],
  ['[backoff]\nmost = "500ms"\n', { backoff: { firstMs: 500, mostMs: 500 } }],
  ['[backoff]\n', { backoff: { firstMs: 1_000, mostMs: 60_000 } }],
  ['[circuit]\nfailures = 100\n', { circuit: { failures: 100, windowMs: 600_000, coolDownMs: 300_000 } }],
  ['[circuit]\nwindow = "1h"\n', { circuit: { failures: 5, windowMs: 3_600_000, coolDownMs: 300_000 } }],
  ['[circuit]\ncool_down = "1h"\n', { circuit: { failures: 5, windowMs: 600_000, coolDownMs: 3_600_000 } }],
  ['[continue]\n', { continues: 5 }],
])('a recovery table with some of its keys takes the documented defaults: %j', (text, rules) => {
  expect(rulesIn(text)).toEqual(rules);
});

const rule = (lines: string): string => `[[rules]]\nid = "r"\nclass = "UNKNOWN"\n${lines}\n`;

describe('problems of recovery rules', () => {
  test.each<readonly [what: string, text: string, problems: readonly string[]]>([
    ['invalid TOML', '[[rules', ['SYNTAX ']],
    ['an unknown key', 'ruls = []', ['KEY_UNKNOWN ruls']],
    [
      'an unknown key of a rule',
      rule('patern = "x"'),
      ['KEY_UNKNOWN rules[0].patern', 'RULE_EMPTY rules[0]'],
    ],
    ['a rule without an id', '[[rules]]\nclass = "UNKNOWN"\npattern = "x"\n', ['KEY_MISSING rules[0].id']],
    ['a rule without a class', '[[rules]]\nid = "a"\npattern = "x"\n', ['KEY_MISSING rules[0].class']],
    [
      'an invalid id',
      '[[rules]]\nid = "A b"\nclass = "UNKNOWN"\npattern = "x"\n',
      ['VALUE_INVALID rules[0].id'],
    ],
    [
      'an unknown class',
      '[[rules]]\nid = "a"\nclass = "FLAKY"\npattern = "x"\n',
      ['VALUE_INVALID rules[0].class'],
    ],
    ['a rule without conditions', rule(''), ['RULE_EMPTY rules[0]']],
    ['a rule with only uses', rule('uses = "cap.agent.invoke"'), ['RULE_EMPTY rules[0]']],
    ['two rules with one id', rule('pattern = "x"') + rule('pattern = "y"'), ['RULE_TWICE rules[1].id']],
    ['an unclosed pattern', rule('pattern = "(x"'), ['PATTERN rules[0].pattern']],
    ['a pattern that looks ahead', rule('pattern = "x(?!y)"'), ['PATTERN rules[0].pattern']],
    ['a pattern with a back-reference', rule("pattern = '(x)\\1'"), ['PATTERN rules[0].pattern']],
    ['an empty pattern', rule('pattern = ""'), ['VALUE_INVALID rules[0].pattern']],
    ['a long pattern', rule(`pattern = "${'x'.repeat(1_001)}"`), ['VALUE_INVALID rules[0].pattern']],
    ['a pattern that expands too much', rule("pattern = '((x{30}){30}){7}'"), ['PATTERN rules[0].pattern']],
    ['an invalid exit code', rule('exit_codes = [256]'), ['VALUE_INVALID rules[0].exit_codes[0]']],
    ['no exit codes', rule('exit_codes = []'), ['VALUE_INVALID rules[0].exit_codes']],
    ['an invalid label', rule('pattern = "x"\nuses = "cap.*.run"'), ['USES rules[0].uses']],
    [
      'a threshold of an unknown class',
      '[thresholds]\nVERIFICATION = 3\n',
      ['KEY_UNKNOWN thresholds.VERIFICATION'],
    ],
    ['a threshold of zero', '[thresholds]\nUNKNOWN = 0\n', ['VALUE_INVALID thresholds.UNKNOWN']],
    [
      'a threshold for circular fixes',
      '[thresholds]\nCIRCULAR_FIX = 3\n',
      ['THRESHOLD thresholds.CIRCULAR_FIX'],
    ],
    [
      'a threshold for sessions',
      '[thresholds]\nCONTEXT_EXHAUSTED = 3\n',
      ['THRESHOLD thresholds.CONTEXT_EXHAUSTED'],
    ],
    [
      'a threshold for effects in doubt',
      '[thresholds]\nEFFECT_IN_DOUBT = 3\n',
      ['THRESHOLD thresholds.EFFECT_IN_DOUBT'],
    ],
    [
      'invalid times',
      '[backoff]\nfirst = "soon"\nmost = "31d"\n',
      ['TIME backoff.first', 'TIME backoff.most'],
    ],
    ['a backoff that shrinks', '[backoff]\nfirst = "2m"\nmost = "1m"\n', ['BACKOFF backoff.first']],
    ['a circular limit of one attempt', '[circular]\nattempts = 1\n', ['VALUE_INVALID circular.attempts']],
    ['a similarity above 1', '[circular]\nsimilarity = 1.1\n', ['VALUE_INVALID circular.similarity']],
    [
      'a circuit that opens without failures',
      '[circuit]\nfailures = 0\n',
      ['VALUE_INVALID circuit.failures'],
    ],
    [
      'a window that is too short',
      '[circuit]\nfailures = 1\nwindow = "10ms"\ncool_down = "1s"\n',
      ['TIME circuit.window'],
    ],
    [
      'several mistakes at once',
      `${rule('pattern = "("')}[thresholds]\nCIRCULAR_FIX = 1\n[backoff]\nfirst = "x"\nmost = "1s"\n`,
      ['THRESHOLD thresholds.CIRCULAR_FIX', 'TIME backoff.first', 'PATTERN rules[0].pattern'],
    ],
    [
      'a date instead of a time',
      '[backoff]\nfirst = 2020-01-01\nmost = "1s"\n',
      ['VALUE_INVALID backoff.first'],
    ],
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
  ])('a recovery file is refused: %s', (_, text, problems) => {
    const read = readRecoveryRules(text, FILE);
    expect(faults(text)).toEqual(problems);
    expect(read.rules).toBeUndefined();
    for (const problem of read.problems) expect(problem.file).toBe(FILE);
  });

  test('a misspelled class gets a suggestion', () => {
    const [problem] = readRecoveryRules('[thresholds]\nVERIFICATION_FAILD = 3\n', FILE).problems;
    expect(problem?.nearest).toBe('VERIFICATION_FAILED');
  });

  test('an invalid pattern is shown with its error', () => {
    const [problem] = readRecoveryRules(rule('pattern = "a(b"'), FILE).problems;
    expect(problem?.found).toBe('"a(b": missing closing ): `a(b`');
  });
});

test('patterns that are too large in total are not compiled', () => {
  // Each has the maximum size; only a few of them are compiled.
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

test('arbitrary content is refused with a reason or gives valid rules', () => {
  let made = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 12 }).map((lines) => lines.join('\n')),
        },
        // The file with one line changed.
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
