import { HttpMethod, HttpRequest, originOf } from '@holdpoint/contracts/effect/http-request';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { httpProblems } from '@holdpoint/contracts/task/built-in-inputs';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { BuiltInWorkflow } from './catalog.ts';

const node = (id: string): NodeId => id as NodeId;

/**
 * One gated HTTP request. Inputs: `url`, `method` (POST), `headers`, `body`, and `keyed` (false): true for a
 * target that honours an `Idempotency-Key`. The executor must be configured for it.
 */
export const http: BuiltInWorkflow = {
  id: 'http',
  version: '1',
  offer: {
    title: 'Send one HTTP request after approval',
    repository: 'unused',
    inputs: [
      {
        type: 'text',
        name: 'url',
        label: 'Address',
        help: 'starts with https:// or http://',
        required: true,
      },
      {
        type: 'choice',
        name: 'method',
        label: 'Method',
        required: false,
        options: HttpMethod.options.map((value) => ({ value, label: value })),
        default: 'POST',
      },
      {
        type: 'json',
        name: 'headers',
        label: 'Headers',
        help: 'JSON object of names and values',
        required: false,
      },
      { type: 'json', name: 'body', label: 'Body', help: 'as JSON', required: false },
      {
        type: 'boolean',
        name: 'keyed',
        label: 'The target remembers an Idempotency-Key',
        help: 'only for targets that the executor is configured for',
        required: false,
        default: false,
      },
    ],
  },
  define: ({ inputs = {} }) => {
    const problems = httpProblems(inputs);
    if (problems.length > 0) return { problems };
    const args = HttpRequest.parse(inputs);
    const keyed = inputs['keyed'] === true;
    return {
      id: 'http',
      version: '1',
      nodes: [
        { id: node('prepare'), uses: 'control.prepare', after: [], args: {} },
        {
          id: node('request'),
          uses: keyed ? 'cap.http.keyed_request' : 'cap.http.request',
          after: [node('prepare')],
          args: args as JsonObject,
          effect: {
            kind: 'write_external',
            effectClass: keyed ? 'keyed' : 'opaque',
            idempotencyKey: 'request',
            target: originOf(args.url),
            pool: DEFAULT_POOL,
            audience: ['operators'],
            approvalTimeoutMs: DECISION_MS,
          },
        },
        { id: node('done'), uses: 'control.terminal', after: [node('request')], args: {} },
      ],
    };
  },
};
