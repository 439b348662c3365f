import type { JsonObject } from '@holdpoint/contracts/values/json';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { http } from './http.ts';

const define = (inputs?: JsonObject): WorkflowDefinition => {
  const made = http.define({ workflow: 'http', goal: 'tell them', ...(inputs && { inputs }) });
  if ('problems' in made) throw new Error(made.problems.join('; '));
  return made;
};
const requestOf = (inputs: JsonObject) => {
  const found = define(inputs).nodes.find(({ id }) => id === 'request');
  return {
    uses: found?.uses,
    args: found?.args,
    target: found?.effect?.target,
    class: found?.effect?.effectClass,
  };
};
const problemsOf = (inputs?: JsonObject): readonly string[] =>
  WorkflowDefinition.safeParse(define(inputs)).error?.issues.map(({ path }) => path.join('.')) ?? [];

const url = 'https://api.example:8443/orders?by=hand';

describe('the http workflow', () => {
  test('the default request is a POST to a target without idempotency keys', () => {
    expect(requestOf({ url })).toEqual({
      uses: 'cap.http.request',
      args: { url, method: 'POST' },
      target: 'https://api.example:8443',
      class: 'opaque',
    });
  });

  test('keyed = false makes an unkeyed request', () => {
    expect(requestOf({ url, keyed: false })).toEqual(requestOf({ url }));
  });

  test('the request follows the inputs', () => {
    const inputs = { url, method: 'PUT', headers: { 'X-Reason': 'why' }, body: { order: [7] } };
    expect(requestOf({ ...inputs, keyed: true })).toEqual({
      uses: 'cap.http.keyed_request',
      args: inputs,
      target: 'https://api.example:8443',
      class: 'keyed',
    });
    expect(problemsOf({ ...inputs, keyed: true })).toEqual([]);
  });

  test('the body may be any JSON', () => {
    for (const body of [null, false, 0, '', [], {}]) {
      expect(requestOf({ url, body }).args).toEqual({ url, method: 'POST', body });
      expect(problemsOf({ url, body })).toEqual([]);
    }
  });
});

describe('an invalid http submission names the input', () => {
  test.each<readonly [string, JsonObject | undefined, readonly string[]]>([
    ['without inputs', undefined, ['url']],
    ['without a URL', { body: 'x' }, ['url']],
    ['to another scheme', { url: 'file:///etc/passwd' }, ['url']],
    ['with credentials in the URL', { url: 'https://ada:sesame@api.example/' }, ['url']],
    ['with a method that nobody knows', { url, method: 'BREW' }, ['method']],
    ['with a header that Holdpoint sets', { url, headers: { 'Idempotency-Key': 'mine' } }, ['headers']],
    ['with a header that is no text', { url, headers: { 'X-A': 1 } }, ['headers']],
    ['with a word for a yes', { url, keyed: 'yes' }, ['keyed']],
    ['with an input that it has no use for', { url, metod: 'PUT' }, ['metod']],
    ['with several of them', { url: 7, method: 7, keyed: 7 }, ['method', 'url', 'keyed']],
  ])('%s', (_, inputs, names) => {
    expect(problemsOf(inputs)).toEqual(names.map((name) => `nodes.1.args.${name}`));
  });
});

test('a repeated http submission makes the same request', () => {
  expect(define({ url })).toEqual(define({ url }));
});
