import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SignIn } from '@holdpoint/approvals/adapters/identity/sign-in/sign-in';
import type { SurfaceDeps } from '@holdpoint/approvals/surfaces/surface-deps';
import { pageEndpoints } from '@holdpoint/approvals/surfaces/http/endpoint-access';
import { createEvents } from '@holdpoint/approvals/surfaces/console/events/events';
import { textOf as eventText } from '@holdpoint/approvals/surfaces/console/events/event-stream';
import { createPage } from '@holdpoint/approvals/surfaces/console/page';
import { consoleRoutes } from '@holdpoint/approvals/surfaces/console/routes';
import { ErrorBody, ErrorCode, ERRORS, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode } from '@holdpoint/contracts/approval/sign-in';
import type { BusOverview } from '@holdpoint/runtime/bus/bus-overview';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import fc from 'fast-check';
import { bodyFor } from '../hostile/body.ts';
import { nastyText } from '../hostile/strings.ts';
import { validMessage } from '../messages.ts';
import { keepsPrototypesClean } from '../promises.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf, type Text, textOf } from '../text.ts';

type Input = {
  readonly of: 'command' | 'letter' | 'path' | 'stream' | 'event';
  readonly path: Text;
  readonly body: Bytes;
  readonly origin: Text | null;
};

type Person = { readonly name: string };

const PERSON = 'ada';
const assertionOf = (name: string): string => `signed for ${name}`;
const OWN = 'http://console.example';
const HOST = 'console.example';

/** The calls that reach the services. They must be calls that a page may make. */
const calls: {
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly identity: string | undefined;
}[] = [];
const listener: Pick<Listener, 'call' | 'listen'> = {
  call: (service, endpoint, payload, sent) => {
    calls.push({
      name: `${service}.${endpoint}`,
      payload: payload as (typeof calls)[number]['payload'],
      identity: sent?.identity,
    });
    return Promise.resolve({ ok: { answered: true } });
  },
  listen: () => ({ stop: () => undefined }),
};
const look: BusOverview = {
  instances: () => Promise.resolve([]),
  streams: () => Promise.resolve([]),
  nextLine: () => Promise.resolve(undefined),
};
/** The codes that reach the OIDC provider. */
const redeemed: OidcCode[] = [];
const signIn: SignIn = {
  ways: () => Promise.resolve({}),
  redeem: (code) => {
    redeemed.push(code);
    return Promise.resolve({ token: 'x' });
  },
};
const deps = {
  log: silentLogger(),
  sourceOf: () => '127.0.0.1',
  identity: {
    // Authentication is another target: here every token is valid.
    authenticate: ({ authorization }: { readonly authorization: string | undefined }) =>
      authorization === undefined
        ? Promise.reject(new HoldpointError('APPROVALS_UNAUTHENTICATED', 'a valid token is required'))
        : Promise.resolve({ name: PERSON, groups: [] }),
    isAdministrator: () => false,
    knows: () => true,
    isRemoved: () => false,
    around: () => ({ isInFile: false, administrators: [], hasOtherAdministrators: true }),
    refreshPeople: () => Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'no store')),
    ofDiscord: () => undefined,
  },
  keyring: { identify: ({ name }: Person) => ({ assertion: assertionOf(name) }) },
} as unknown as SurfaceDeps;
const events = createEvents({ deps, listener, look, heartbeatMs: 60_000 });
const app = consoleRoutes({
  deps,
  listener,
  look,
  events,
  resolveDeadLetter: () => Promise.reject(new HoldpointError('RUNTIME_DEAD_LETTER_UNKNOWN', 'there is none')),
  page: createPage('/nowhere/at/all'),
  origins: [],
  signIn,
  redeemCode: () => Promise.reject(new HoldpointError('APPROVALS_SIGN_IN_REFUSED', 'unknown')),
});

/** A path as part of a URL, or undefined when no client could send it. */
const urlOf = (path: string): string | undefined => {
  const url = URL.parse(`${OWN}/${path}`);
  return url?.origin === OWN ? url.href : undefined;
};

const headersOf = (origin: string | undefined): Headers | undefined => {
  const headers = new Headers({ authorization: 'Bearer x', host: HOST });
  try {
    if (origin !== undefined) headers.set('origin', origin);
    return headers;
  } catch {
    // No client can send this header.
    return undefined;
  }
};

const answerTo = async (method: string, { path, body, origin }: Input): Promise<Response | undefined> => {
  const url = urlOf(textOf(path));
  const headers = headersOf(origin === null ? undefined : textOf(origin));
  if (url === undefined || headers === undefined) return undefined;
  const request = new Request(url, {
    method,
    headers,
    ...(method === 'POST' && { body: Buffer.from(bytesOf(body)) }),
  });
  const incoming = { socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage;
  // Nothing is written to it: hostile input is refused before a stream starts.
  const outgoing = {} as unknown as ServerResponse;
  return app.request(request, undefined, { incoming, outgoing });
};

const outcomeOf = async (response: Response): Promise<string> => {
  const text = await response.text();
  assert.equal(response.headers.get('x-content-type-options') ?? 'nosniff', 'nosniff');
  assert.doesNotMatch(text, /\.ts:\d|node_modules|at async/);
  if (response.status === 200) return 'accepted';
  if (response.headers.get('content-type')?.startsWith('text/plain') === true) return String(response.status);
  const { code } = ErrorBody.parse(JSON.parse(text));
  const known = ErrorCode.parse(code);
  assert.equal(response.status, ERRORS[known]);
  assert.notEqual(known, 'RUNTIME_POISON');
  return code;
};

const PAGES: ReadonlySet<string> = new Set([
  ...pageEndpoints(),
  ...['orchestrator', 'executor', 'recovery'].flatMap((service) => [
    `${service}.dead_letter_list`,
    `${service}.dead_letter_resolve`,
  ]),
]);
/** Calls that change state carry the signed-in user. */
const READS =
  /\.(get|list|history|workflows|artifacts?|capabilities|order|stuck|report|failure_counts|circuits|claimants|dead_letter_list)$/;

const isOwn = (origin: string): boolean => origin === OWN || origin === OWN.replace('http', 'https');

/** The redirect leads only to the requesting page. */
const checkRedeemed = (origin: string | undefined): void => {
  for (const { redirectUri } of redeemed) {
    assert.ok(origin === undefined || isOwn(origin), origin);
    const back = new URL(redirectUri);
    assert.ok(isOwn(back.origin), redirectUri);
    assert.equal(redirectUri, back.origin + back.pathname);
  }
};

const checkCalls = (origin: string | undefined): void => {
  for (const { name, payload, identity } of calls) {
    assert.ok(PAGES.has(name), name);
    assert.ok(origin === undefined || isOwn(origin), origin);
    assert.equal(identity, READS.test(name) ? undefined : assertionOf(PERSON));
    if (name === 'orchestrator.submit') {
      assert.equal(payload['requestedBy'], PERSON);
      // A page may name neither approvers nor agents.
      for (const part of ['definition', 'program', 'agent', 'approval'])
        assert.ok(!Object.hasOwn(payload, part), part);
    } else if (!READS.test(name)) assert.equal(payload['by'], PERSON);
  }
};

const respond = async (method: string, input: Input): Promise<string> => {
  calls.length = 0;
  redeemed.length = 0;
  const response = await answerTo(method, input);
  if (response === undefined) return 'unsendable';
  const outcome = await outcomeOf(response);
  const origin = input.origin === null ? undefined : textOf(input.origin);
  checkCalls(origin);
  checkRedeemed(origin);
  return outcome;
};

/** A line-based reader gets exactly one event. */
const checkEvent = (text: string): string => {
  const written = eventText({ event: 'log', id: '1.2', data: { line: text } });
  const lines = written.split(/\r\n|\r|\n/);
  assert.equal(lines.length, 5);
  assert.deepEqual(lines.slice(-2), ['', '']);
  const line = JSON.parse(lines[2]?.replace(/^data: /, '') ?? '') as { readonly line: string };
  assert.equal(line.line, text);
  return 'accepted';
};

const origins: fc.Arbitrary<Text | null> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(null, OWN) },
  fc.constantFrom('null', 'http://evil.example', `${OWN}.evil`, `${OWN}:80`, 'http://', '*'),
  nastyText,
);
const input = (of: Input['of'], path: fc.Arbitrary<Text>, body: fc.Arbitrary<Bytes>): fc.Arbitrary<Input> =>
  fc.record({ of: fc.constant(of), path, body, origin: origins });
const nothing: fc.Arbitrary<Bytes> = fc.constant([]);

const commands: fc.Arbitrary<Input> = fc
  .constantFrom(...pageEndpoints())
  .chain((name) =>
    input(
      'command',
      fc.constant(`console/api/${name.replace('.', '/')}`),
      bodyFor(validMessage(`api/${name}.request`)),
    ),
  );
const letters = input(
  'letter',
  fc.constantFrom('console/api/dlq/list', 'console/api/dlq/retry', 'console/api/dlq/drop'),
  bodyFor(
    fc.oneof(
      fc.record({
        id: fc.oneof(fc.constantFrom('executor-1', 'approvals-2', 'executor-0', '7'), nastyText),
        by: nastyText,
      }),
      fc.record({ limit: fc.integer(), after: nastyText }),
      fc.constant({}),
    ),
  ),
);
const codes = input(
  'command',
  fc.constantFrom('console/sign-in/oidc', 'console/sign-in/code', 'console/sign-in'),
  bodyFor(
    fc.record({
      code: fc.oneof(fc.constant('a-code'), nastyText.map(textOf)),
      verifier: fc.oneof(fc.constant('v'.repeat(43)), nastyText.map(textOf)),
      nonce: fc.oneof(fc.constant('a-nonce'), nastyText.map(textOf)),
      redirectUri: fc.oneof(
        fc.constantFrom(
          `${OWN}/`,
          `${OWN}/console/`,
          OWN,
          `${OWN}/?next=x`,
          `${OWN}/#x`,
          `${OWN}/\n`,
          `${OWN}:81/`,
          `${OWN}.evil/`,
          'http://console.example@evil.example/',
          'http://evil.example/',
          'javascript:alert(1)',
        ),
        nastyText.map(textOf),
        nastyText.map((text) => `${OWN}/${textOf(text)}`),
      ),
    }),
  ),
);
const paths = input(
  'path',
  fc
    .tuple(fc.constantFrom('', 'console/', 'console/api/', 'console/api/orchestrator/', 'assets/'), nastyText)
    .map(([start, text]) => `${start}${textOf(text)}`),
  nothing,
);
const streams = input(
  'stream',
  fc
    .record({ task: nastyText, after: nastyText })
    // An invalid name opens no stream.
    .map(
      ({ task, after }) =>
        `console/events?${new URLSearchParams({
          task: `.${textOf(task).toWellFormed()}`,
          after: textOf(after).toWellFormed(),
        }).toString()}`,
    ),
  nothing,
);

const checked = (it: Input): string | Promise<string> => {
  switch (it.of) {
    case 'command':
    case 'letter':
      return respond('POST', it);
    case 'path':
    case 'stream':
      return respond('GET', it);
    case 'event':
      return checkEvent(textOf(it.path).toWellFormed());
  }
};

/** Requests to the console are answered or refused with a code, and act only as the signed-in user. */
export const consoleTarget = target<Input>({
  name: 'console',
  runs: 60,
  reaches: [],
  cases: {
    commands,
    letters,
    codes,
    paths,
    streams,
    events: input('event', nastyText, nothing),
  },
  check: async (it) => {
    const outcome = await checked(it);
    keepsPrototypesClean();
    return outcome;
  },
});
