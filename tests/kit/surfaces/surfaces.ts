import type { Choice, DecideApproval } from '@holdpoint/contracts/approval/commands';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';
import { WebSocket } from 'ws';
import { Refusal } from '../bus/client.ts';
import { commandLine } from '../command-line.ts';
import type { DiscordAnswer, DiscordMessage, DiscordStandIn, Press } from './discord.ts';
import type { TestPrincipal } from '../stack/principals.ts';
import type { System } from '../stack/system.ts';
import { until } from '../until.ts';

export type Decided = ApiResponse<'approvals', 'decide'>;

/** A surface on which a person decides. */
export type SurfaceDriver = {
  readonly name: string;
  /** The name of the surface in the record. */
  readonly surface: 'api' | 'cli' | 'http' | 'web' | 'websocket' | 'discord';
  /** The surface has buttons, which need an existing message and a known Discord user. */
  readonly hasButtons?: true;
  /** Loads the request once, without a later refresh. */
  readonly see?: (id: string) => Promise<void>;
  /** Decides, and returns the answer or the code of the refusal. */
  readonly decide: (
    as: TestPrincipal,
    request: DecideApproval,
  ) => Promise<{ readonly ok: Partial<Decided> } | { readonly code: string; readonly message: string }>;
};

const refusalOf = (error: unknown): { readonly code: string; readonly message: string } => {
  if (error instanceof Refusal) return { code: error.code, message: error.body.message };
  throw error;
};

export const onTheBus = ({ client }: System): SurfaceDriver => ({
  name: 'the bus',
  surface: 'api',
  decide: async (as, request) =>
    client
      .ask('approvals', 'decide', request, as.token)
      .then((ok) => ({ ok }))
      .catch(refusalOf),
});

const VERBS = { approve: 'approve', reject: 'reject', request_changes: 'request-changes' } as const;
/** The command line of a decision: a verb of its own, or an answer. */
const typedFor = (id: string, said: Choice): readonly string[] => {
  const { data: verb } = Verb.safeParse(said);
  return verb === undefined ? ['answer', id, said] : [VERBS[verb], id];
};

/** A response by its own flag. */
const typedResponse = (response: Json | undefined): readonly string[] => {
  if (typeof response === 'boolean') return [response ? '--yes' : '--no'];
  if (typeof response === 'string') return ['--text', response];
  return Object.entries(response ?? {}).flatMap(([name, value]) => [
    '--field',
    typeof value === 'string' ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`,
  ]);
};

/** The command line does not use approval tokens; it binds a decision to the digest that it has shown. */
export const onTheCommandLine = (system: System): SurfaceDriver => ({
  name: 'the command line',
  surface: 'cli',
  decide: async (as, { id, decision, response, comment, digest }) => {
    const holdpoint = commandLine(system, undefined, { HOLDPOINT_TOKEN: as.token });
    const { code, out, err } = await holdpoint(
      'approvals',
      ...(decision === 'respond' ? ['respond', id, ...typedResponse(response)] : typedFor(id, decision)),
      ...(comment === undefined ? [] : ['--comment', comment]),
      // A decision is bound to the digest that was shown.
      ...(digest === undefined || !Verb.safeParse(decision).success ? [] : ['--digest', digest]),
      '--json',
    );
    if (code === 0) return { ok: JSON.parse(out) as Decided };
    const { named, message = '' } =
      /\b(?<named>[A-Z]+_[A-Z_]+): (?<message>.*)/.exec(err + out)?.groups ?? {};
    if (named === undefined) throw new Error(`holdpoint ended with ${String(code)}: ${out}${err}`);
    return { code: named, message };
  },
});

/** The request with the digest that the person reads over HTTP. */
const asRead = async (base: string, as: TestPrincipal, request: DecideApproval): Promise<DecideApproval> => {
  if (request.digest !== undefined) return request;
  const answer = await fetch(`${base}/api/v1/approvals/${request.id}`, {
    headers: { authorization: `Bearer ${as.token}` },
  });
  const { digest } = (await answer.json()) as { readonly digest?: string };
  return { ...request, digest: digest ?? '0'.repeat(64) };
};

export const overHttp = (base: string): SurfaceDriver => ({
  name: 'HTTP',
  surface: 'http',
  decide: async (as, request) => {
    const { id, ...said } = await asRead(base, as, request);
    const answer = await fetch(`${base}/api/v1/approvals/${id}/decisions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(said),
    });
    const body: unknown = await answer.json();
    return answer.ok ? { ok: body as Decided } : ErrorBody.parse(body);
  },
});

/** As the console page, which has the same origin. */
export const overTheConsole = (base: string): SurfaceDriver => ({
  name: 'the console',
  surface: 'web',
  decide: async (as, request) => {
    const answer = await fetch(`${base}/console/api/approvals/decide`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as.token}`, 'content-type': 'application/json', origin: base },
      body: JSON.stringify(await asRead(base, as, request)),
    });
    const body: unknown = await answer.json();
    return answer.ok ? { ok: body as Decided } : ErrorBody.parse(body);
  },
});

export const overWebSocket = (base: string): SurfaceDriver => ({
  name: 'WebSocket',
  surface: 'websocket',
  decide: async (as, request) => {
    const { id, ...said } = await asRead(base, as, request);
    const socket = new WebSocket(`${base.replace('http', 'ws')}/api/v1/watch`, {
      headers: { authorization: `Bearer ${as.token}` },
    });
    try {
      return await new Promise((resolve, reject) => {
        socket.on('unexpected-response', (_request, response) => {
          response
            .toArray()
            .then((parts) => ErrorBody.parse(JSON.parse(Buffer.concat(parts as Buffer[]).toString())))
            .then(resolve, reject);
        });
        socket.on('error', reject);
        socket.on('open', () => {
          socket.send(JSON.stringify({ type: 'approval.respond', ref: 'r-1', id, ...said }));
        });
        socket.on('close', (code, reason) =>
          reject(new Error(`closed: ${String(code)} ${reason.toString()}`)),
        );
        socket.on('message', (data: Buffer) => {
          const message = JSON.parse(data.toString()) as {
            type: string;
            ref?: string;
            ok?: Decided;
            error?: ErrorBody;
          };
          if (message.type !== 'approval.responded' || message.ref !== 'r-1') return;
          resolve(message.ok === undefined ? ErrorBody.parse(message.error) : { ok: message.ok });
        });
      });
    } finally {
      socket.close();
    }
  },
});

/** The labels of the button for each answer, for every kind of question. */
const BUTTONS: Readonly<Record<Choice, readonly string[]>> = {
  approve: ['Approve', 'Yes'],
  reject: ['Reject', 'No'],
  request_changes: ['Request changes…'],
  applied: ['It happened'],
  not_applied: ['It did not happen'],
  retry: ['Do it again', 'Try again'],
  skip: ['Skip'],
  done: ['Mark as done'],
  cancel: ['Cancel'],
  // The button depends on the response.
  respond: [],
};
const WITH_REASON = { ...BUTTONS, reject: ['Reject with reason…'] } as const;

/** Options are pressed by their labels, which equal their values in these tests; other answers are typed. */
const labelsFor = ({ decision, response, comment }: DecideApproval): readonly string[] => {
  if (decision !== 'respond') return (comment === undefined ? BUTTONS : WITH_REASON)[decision];
  if (typeof response === 'boolean') return [response ? 'Yes' : 'No'];
  return [...(typeof response === 'string' ? [response] : []), 'Answer…', 'Fill in…'];
};

/** The fields of a form, by name. */
const typedOn = ({ response, comment }: DecideApproval): Readonly<Record<string, string>> => {
  if (response === undefined) return { comment: comment ?? 'as it was agreed' };
  if (typeof response !== 'object' || response === null) return { answer: String(response) };
  return Object.fromEntries(
    Object.entries(response).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
};

/** The reply below a message, as a code and a text in Discord's markup. */
const toldOn = (answer: DiscordAnswer): Awaited<ReturnType<SurfaceDriver['decide']>> => {
  const said = (answer.data?.content ?? '').replaceAll(/[\\`]/g, '');
  const code = /\((?<code>[A-Z]+_[A-Z_]+)\)\s*$/.exec(said)?.groups?.['code'];
  if (code !== undefined) return { code, message: said };
  const missing = /^Your vote counts\. Approvals still needed: (?<missing>\d+)/.exec(said)?.groups?.[
    'missing'
  ];
  if (missing !== undefined) return { ok: { status: 'pending', approvalsMissing: Number(missing) } };
  if (said.startsWith('Already decided.')) return { code: 'APPROVALS_ALREADY_DECIDED', message: said };
  throw new Error(`Discord was answered with ${JSON.stringify(answer)}`);
};

/** Uses the buttons and forms of the message; Discord's user id identifies the person. */
export const onDiscord = ({ client }: System, discord: DiscordStandIn, port: number): SurfaceDriver => {
  /** The stale view of people who have not refreshed. */
  const seen = new Map<string, DiscordMessage>();
  const see = async (id: string): Promise<DiscordMessage> => {
    const message = seen.get(id) ?? (await until(`discord shows ${id}`, () => discord.messageOf(id)));
    seen.set(id, message);
    return message;
  };
  const replied = async (answer: DiscordAnswer, id: DecideApproval['id']) => {
    // The message shows the decision from now on.
    if (answer.type !== 7) return toldOn(answer);
    const { status, decidedBy } = await client.ask('approvals', 'get', { id });
    return { ok: { id, status, ...(decidedBy !== undefined && { by: decidedBy }) } };
  };
  return {
    name: 'Discord',
    surface: 'discord',
    hasButtons: true,
    see: async (id) => void (await see(id)),
    decide: async ({ discord: user = '0' }, request) => {
      const { id } = request;
      const message = await see(id);
      const press: Press = { port, user, message };
      const labels = labelsFor(request);
      const label = message.components
        .flatMap(({ components }) => components.map((each) => each.label))
        .find((each) => labels.includes(each));
      if (label === undefined)
        return { code: 'APPROVALS_NO_CHOICE', message: 'there is no button to say it with' };
      const pressed = await discord.press(press, label);
      if (pressed.type !== 9) return replied(pressed, id);
      const form = pressed.data?.custom_id ?? '';
      return replied(await discord.submit(press, form, typedOn(request)), id);
    },
  };
};
