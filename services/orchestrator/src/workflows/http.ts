import { HttpMethod, HttpRequest, originOf } from '@holdpoint/contracts/effect/http-request';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { BuiltInWorkflow } from './catalog.ts';

const node = (id: string): NodeId => id as NodeId;

/** The contract rejects such an input anyway; here the problem names it. */
const REFUSED = undefined as unknown as Json;

type HttpTask = { readonly args: JsonObject; readonly origin: string };

/** Every invalid or unknown input. */
const wrongIn = (inputs: JsonObject): readonly string[] => [
  ...(HttpRequest.safeParse(inputs).error?.issues.map(({ path }) => String(path[0])) ?? []),
  ...Object.keys(inputs).filter((name) => name !== 'keyed' && !Object.hasOwn(HttpRequest.shape, name)),
  ...(typeof (inputs['keyed'] ?? false) === 'boolean' ? [] : ['keyed']),
];

const ask = (inputs: JsonObject): HttpTask => {
  const wrong = wrongIn(inputs);
  if (wrong.length > 0)
    return { args: Object.fromEntries(wrong.map((name) => [name, REFUSED])), origin: 'nowhere' };
  const args = HttpRequest.parse(inputs);
  return { args: args as JsonObject, origin: originOf(args.url) };
};

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
  define: ({ inputs = {} }): WorkflowDefinition => {
    const { args, origin } = ask(inputs);
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
          args,
          effect: {
            kind: 'write_external',
            effectClass: keyed ? 'keyed' : 'opaque',
            idempotencyKey: 'request',
            target: origin,
            pool: DEFAULT_POOL,
            audience: ['operators'],
            approvalTimeoutMs: 5 * 60_000,
          },
        },
        { id: node('done'), uses: 'control.terminal', after: [node('request')], args: {} },
      ],
    };
  },
};
