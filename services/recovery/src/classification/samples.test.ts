import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { describe, expect, test } from 'vitest';
import { classify } from './classify.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'samples');

type Sample = {
  readonly path: string;
  readonly head: Readonly<Record<string, string>>;
  readonly output: string;
};

const sampleAt = (path: string): Sample => {
  const [head = '', ...rest] = readFileSync(join(FOLDER, path), 'utf8').split('\n---\n');
  const fields = head.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  return { path, head: Object.fromEntries(fields), output: rest.join('\n---\n') };
};

const samples = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.txt'))
  .sort()
  .map(sampleAt);

const classified = ({ head, output }: Sample): ReturnType<typeof classify> =>
  classify({
    uses: head['uses'],
    outcome: 'failed',
    error: { code: 'NODE_FAILED', message: `the program ended with exit code ${String(head['exit'])}` },
    exitCode: Number(head['exit']),
    output,
  });

describe('recorded samples', () => {
  test.each(samples.map((sample) => [sample.path, sample] as const))('%s', (_, sample) => {
    const { class: found, classification } = classified(sample);
    expect({ class: found, classification }).toEqual({ class: sample.head['class'], classification });
    expect(classification.rule).toMatch(/^classes@2\/[a-z]/);
    expect(classification.evidence).not.toBe('');
  });
});

test('the samples cover every class that output can show', () => {
  expect(samples.length).toBeGreaterThan(90);
  const classes = new Set(samples.map(({ head }) => FailureClass.parse(head['class'])));
  expect([...classes].sort()).toEqual([
    'BROKEN_BUILD',
    'CONTEXT_EXHAUSTED',
    'TRANSIENT',
    'UNKNOWN',
    'VERIFICATION_FAILED',
  ]);
});

test('the samples contain no machine, account or registry', () => {
  const telling = /\/(?:root|work|tmp|Users)\/|\bregistry\.npmjs|pypi\.org|proxy\.golang|10\.\d+\.\d+\.\d+/;
  expect(samples.filter(({ output }) => telling.test(output)).map(({ path }) => path)).toEqual([]);
});
