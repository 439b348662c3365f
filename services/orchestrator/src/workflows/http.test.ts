import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
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
const problemsOf = (inputs?: JsonObject): readonly string[] => {
  const made = http.define({ workflow: 'http', goal: 'tell them', ...(inputs && { inputs }) });
  return 'problems' in made ? made.problems : [];
};

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
  test.each<readonly [string, JsonObject | undefined, readonly (string | RegExp)[]]>([
    ['without inputs', undefined, ['input url is missing']],
    ['without a URL', { body: 'x' }, ['input url is missing']],
    ['to another scheme', { url: 'file:///etc/passwd' }, [/^input url: an http or https URL/]],
    [
      'with credentials in the URL',
      { url: 'https://ada:sesame@api.example/' },
      [/^input url: .*credentials/],
    ],
    ['with an unknown method', { url, method: 'BREW' }, [/^input method: /]],
    [
      'with a header that Holdpoint sets',
      { url, headers: { 'Idempotency-Key': 'mine' } },
      [/^input headers/],
    ],
    ['with a header that is no text', { url, headers: { 'X-A': 1 } }, [/^input headers.X-A: /]],
    ['with a word for a yes', { url, keyed: 'yes' }, ['input keyed: true or false']],
    ['with an unknown input', { url, metod: 'PUT' }, [/^unknown input metod; known: method, url, .*keyed$/]],
    [
      'with several of them',
      { url: 7, method: 7, keyed: 7 },
      [/^input method: /, /^input url: /, /^input keyed: /],
    ],
  ])('%s', (_, inputs, texts) => {
    const found = problemsOf(inputs);
    expect(found).toHaveLength(texts.length);
    texts.forEach((text, at) => expect(found[at]).toMatch(text));
  });
});

test('a repeated http submission makes the same request', () => {
  expect(define({ url })).toEqual(define({ url }));
});
