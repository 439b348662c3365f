import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { type AssessFailure, OUTPUT_MAX } from '@holdpoint/contracts/recovery/commands';
import { HINT_MAX, REPORT_MAX, Verdict } from '@holdpoint/contracts/recovery/verdict';
import { ClassRule } from '@holdpoint/contracts/workflow/recovery-rules';
import { TASK } from '@holdpoint/orchestrator/testing/tasks';
import { classify } from '@holdpoint/recovery/classification/classify';
import { fingerprintOf } from '@holdpoint/recovery/classification/fingerprint';
import { similarity } from '@holdpoint/recovery/classification/similarity';
import { EVIDENCE_MAX } from '@holdpoint/recovery/classification/text';
import { attemptsDecider } from '@holdpoint/recovery/attempts/decide';
import fc from 'fast-check';
import { NOW } from '../decisions.ts';
import { nastyString, nastyText } from '../hostile/strings.ts';
import { isStorable } from '../promises.ts';
import { target } from '../target.ts';
import { type Text, textOf } from '../text.ts';

type Input = {
  readonly output: readonly Text[];
  readonly message: Text;
  readonly approach: Text | undefined;
  readonly uses: string | undefined;
  readonly exitCode: number | undefined;
  readonly pattern: string | undefined;
  readonly lost: boolean;
  readonly code?: string;
};

const SAMPLES = join(import.meta.dirname, '../../../services/recovery/samples');
/** Lines of real tool output, which a hostile process could print in any order. */
const LINES: readonly string[] = [
  ...new Set(
    readdirSync(SAMPLES, { recursive: true, encoding: 'utf8' })
      .map((file) => join(SAMPLES, file))
      .filter((file) => /\.(txt|log|out)$/.test(file) && statSync(file).isFile())
      .flatMap((file) => readFileSync(file, 'utf8').split('\n')),
  ),
].slice(0, 20_000);

const line = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...LINES, 'error TS2322: no', 'FAIL x', 'panic: y') },
  { weight: 1, arbitrary: nastyString },
);
const output: fc.Arbitrary<readonly Text[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(line, { maxLength: 30 }).map((lines): Text[] => [lines.join('\n')]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(line, fc.constantFrom(1_000, 20_000))
      .map(([repeat, times]): Text[] => [{ repeat, times: Math.ceil(times / Math.max(1, repeat.length)) }]),
  },
  { weight: 2, arbitrary: fc.array(nastyText, { maxLength: 3 }) },
);

const PATTERNS = ['(?i)error', '(a+)+$', '.{0,300}.{0,300}x', '\\PL', '(?=x)', '(', '', '^'];

const rulesWith = (pattern: string | undefined) => {
  const { data } = ClassRule.safeParse({ id: 'own', class: 'TRANSIENT', pattern });
  return data === undefined ? undefined : { rules: [data] };
};

/** Any output has a failure class, a bounded reason and a readable verdict. */
export const classification = target<Input>({
  name: 'classification',
  runs: 200,
  reaches: FailureClass.options.filter((each) => !['CIRCULAR_FIX', 'EFFECT_IN_DOUBT'].includes(each)),
  cases: {
    outputs: fc.record({
      output,
      message: nastyText,
      approach: fc.option(nastyText, { nil: undefined }),
      uses: fc.constantFrom(undefined, 'cap.agent.invoke', 'control.gate.cicd', 'cap.env.shell.command.run'),
      exitCode: fc.constantFrom(undefined, 0, 1, 2, 75, 127, 137, -1),
      pattern: fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...PATTERNS) },
      ),
      lost: fc.constantFrom(false, false, false, false, true),
      code: fc.constantFrom('NODE_FAILED', 'NODE_FAILED', 'NODE_FAILED', 'EXECUTOR_INVALID_ARGUMENTS'),
    }),
  },
  check: (input) => {
    const { uses, exitCode, lost, code = 'NODE_FAILED' } = input;
    const rules = rulesWith(input.pattern);
    const printed = input.output.map(textOf).join('').slice(-OUTPUT_MAX).toWellFormed();
    const approach = input.approach && textOf(input.approach).slice(0, 2_000).toWellFormed();
    const failure: AssessFailure = {
      task: TASK,
      node: 'stage' as AssessFailure['node'],
      attempt: 1,
      outcome: lost ? 'in_doubt' : 'failed',
      error: { code, message: textOf(input.message).replaceAll('\0', '').toWellFormed() },
      output: printed.replaceAll('\0', ''),
      ...(uses !== undefined && { uses }),
      ...(exitCode !== undefined && { exitCode }),
      ...(approach !== undefined && { report: { approach: approach.replaceAll('\0', '') } }),
      ...(lost && { cause: 'worker_lost' as const }),
      ...(rules && { rules }),
    };
    const found = classify(failure);
    assert.ok(FailureClass.options.includes(found.class));
    assert.ok(found.classification.evidence.length <= EVIDENCE_MAX);
    assert.match(found.classification.rule, /^[a-z0-9@./_-]{1,200}$/);
    assert.deepEqual(classify(failure), found);
    assert.match(fingerprintOf(failure), /^[0-9a-f]{16}$/);
    if (approach !== undefined) {
      assert.ok(similarity(approach, approach) === 1);
      const alike = similarity(approach, printed.slice(0, 2_000));
      assert.ok(alike >= 0 && alike <= 1);
    }
    const [event] = attemptsDecider.decide(
      attemptsDecider.initial,
      { kind: 'assess', payload: failure },
      { now: NOW },
    ).events;
    assert.ok(event?.type === 'assessed' && isStorable(event));
    const { hint = '', report = '' } = Verdict.parse(event.verdict);
    assert.ok(hint.length <= HINT_MAX && report.length <= REPORT_MAX);
    return found.class;
  },
});
