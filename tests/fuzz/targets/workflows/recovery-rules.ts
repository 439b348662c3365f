import assert from 'node:assert/strict';
import { finderOf } from '@holdpoint/contracts/values/pattern';
import { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { problemText } from '@holdpoint/workflows/problems/problem';
import { readRecoveryRules } from '@holdpoint/workflows/recovery/read-rules';
import { rulesProblems } from '@holdpoint/workflows/recovery/rule-problems';
import fc from 'fast-check';
import { nastyString } from '../../hostile/strings.ts';
import { keepsPrototypesClean, stored } from '../../promises.ts';
import { target } from '../../target.ts';
import { type Text, textOf } from '../../text.ts';

type Input = { readonly text: Text };

const LINES = [
  '[[rules]]',
  'id = "a"',
  'id = "__proto__"',
  'id = "A B"',
  'class = "TRANSIENT"',
  'class = "CIRCULAR_FIX"',
  'class = "constructor"',
  "pattern = '(?i)timed out'",
  "pattern = '(a+)+$'",
  "pattern = '(?=x)'",
  "pattern = '\\1'",
  "pattern = '('",
  "pattern = '.{0,900}.{0,900}.{0,900}'",
  "pattern = '(?:(?:(?:a{30}){30}){30})'",
  'pattern = ""',
  'exit_codes = [1, 2]',
  'exit_codes = []',
  'exit_codes = [256]',
  'errors = ["NODE_FAILED"]',
  'uses = "control.gate.*"',
  'uses = "*.*"',
  '[thresholds]',
  'UNKNOWN = 1',
  'UNKNOWN = 1e99',
  'CIRCULAR_FIX = 2',
  '__proto__ = 1',
  '[backoff]',
  'first = "1s"',
  'first = "1d"',
  'most = "1m"',
  'most = "-1s"',
  'most = 9223372036854775807',
  '[circular]',
  'attempts = 2',
  'similarity = nan',
  'similarity = 0.5',
  '[continue]',
  'max = 0',
  '[circuit]',
  'failures = 1',
  'window = "10m"',
  'cool_down = "never"',
  'x = 1979-05-27',
  '= 1',
];

const text: fc.Arbitrary<Text> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 16 }).map((lines): Text => lines.join('\n')),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.oneof(fc.constantFrom(...LINES), nastyString), { maxLength: 6 })
      .map((lines): Text => lines.join('\n')),
  },
  {
    weight: 2,
    arbitrary: nastyString.map(
      (pattern): Text =>
        `[[rules]]\nid = "a"\nclass = "UNKNOWN"\npattern = ${JSON.stringify(pattern.toWellFormed())}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Text>(
      { repeat: '[[rules]]\nid = "a"\nclass = "UNKNOWN"\npattern = "(?:a{100}){10}"\n', times: 90 },
      { repeat: '[[rules]]\n', times: 20_000 },
      { repeat: 'x = 1\n', times: 1_700_000 },
      { repeat: '[', times: 100_000 },
      { repeat: 'a.', times: 50_000 },
    ),
  },
);

const FILE = '.holdpoint/recovery.toml';

/** Any text is a set of recovery rules that every service accepts, or a list of problems with positions. */
export const recoveryRules = target<Input>({
  name: 'recovery-rules',
  runs: 300,
  reaches: ['accepted', 'WORKFLOW_RECOVERY_SYNTAX', 'WORKFLOW_RECOVERY_PATTERN'],
  cases: { 'recovery.toml': fc.record({ text }) },
  check: ({ text: written }) => {
    const { rules, problems } = readRecoveryRules(textOf(written), FILE);
    keepsPrototypesClean();
    for (const problem of problems) {
      assert.match(problem.code, /^WORKFLOW_RECOVERY_[A-Z_]+$/);
      assert.match(problemText(problem), /^[^\r\n]{1,10000}$/);
      assert.equal(problem.file, FILE);
    }
    if (rules === undefined) return problems.find(({ severity }) => severity === 'error')?.code ?? '';
    assert.deepEqual(RecoveryRules.parse(stored(rules)), rules);
    // The services validate the rules again.
    assert.deepEqual(rulesProblems(rules), []);
    // Accepted patterns match in bounded time.
    for (const { pattern } of rules.rules ?? []) {
      if (pattern !== undefined) finderOf([pattern])('a'.repeat(1_000));
    }
    return 'accepted';
  },
});
