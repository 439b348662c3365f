import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';

const Button = z.strictObject({
  type: z.literal(2),
  style: z.int().min(1).max(4),
  label: z.string().min(1).max(80),
  custom_id: z.string().min(1).max(100),
});
const Row = z.strictObject({ type: z.literal(1), components: z.array(Button).min(1).max(5) });
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((each) => each.trim() !== '', 'blank')
    .refine((each) => each.isWellFormed(), 'half of a character');
const Embed = z
  .strictObject({
    title: text(256),
    description: text(4_096),
    color: z.int(),
    fields: z
      .array(z.strictObject({ name: text(256), value: text(1_024), inline: z.boolean().optional() }))
      .max(25),
    footer: z.strictObject({ text: text(2_048) }),
  })
  .refine(
    ({ title, description, fields, footer }) =>
      [title, description, footer.text, ...fields.flatMap(({ name, value }) => [name, value])].join('')
        .length <= 6_000,
    'more than 6000 characters',
  );

/** A message within the limits of Discord. */
const Body = z.strictObject({
  content: z.string().max(2_000),
  embeds: z.array(Embed).max(10).default([]),
  components: z.array(Row).max(5).default([]),
  allowed_mentions: z.strictObject({ parse: z.array(z.string()).max(0) }),
  nonce: z.string().max(25).optional(),
  enforce_nonce: z.boolean().optional(),
  message_reference: z.strictObject({ message_id: z.string(), fail_if_not_exists: z.boolean() }).optional(),
});
export type DiscordMessage = z.infer<typeof Body> & { readonly id: string; readonly edits: number };

/** The answer to an interaction, with the limits that Discord has for forms. */
const FormPart = z.strictObject({
  type: z.literal(18),
  label: text(45),
  description: text(100).optional(),
  component: z.strictObject({
    type: z.literal(4),
    custom_id: z.string().min(1).max(100),
    style: z.int().min(1).max(2),
    required: z.boolean(),
    min_length: z.int().min(0).max(4_000).optional(),
    max_length: z.int().min(1).max(4_000),
    placeholder: text(100).optional(),
  }),
});
const Form = z.object({
  type: z.literal(9),
  data: z.strictObject({
    custom_id: z.string().min(1).max(100),
    title: text(45),
    components: z
      .array(FormPart)
      .min(1)
      .max(5)
      .refine((parts) => new Set(parts.map(({ component }) => component.custom_id)).size === parts.length),
  }),
});
const Answer = z
  .object({
    type: z.number(),
    data: z
      .looseObject({
        content: z.string().optional(),
        flags: z.number().optional(),
        custom_id: z.string().max(100).optional(),
      })
      .optional(),
  })
  .refine((answer) => answer.type !== 9 || Form.safeParse(answer).success, 'no form that discord takes');
export type DiscordAnswer = z.infer<typeof Answer> & { readonly status: number; readonly code?: string };

export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
};

/** A fault that Discord shows instead of an answer. */
export type Trouble =
  | {
      readonly status: number;
      readonly body?: object;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Discord closes the connection, or keeps it open without an answer. */
  | 'silence'
  | 'hang'
  /** Discord does it and closes the connection. */
  | 'lost';

export type Press = {
  readonly port: number;
  readonly user: string;
  readonly message: DiscordMessage;
};

/** Changes to an interaction before or after its signature. */
export type Forged = {
  readonly id?: string;
  readonly timestamp?: string;
  readonly customId?: string;
  readonly afterSigning?: (body: string) => string;
  readonly headers?: (headers: Record<string, string>) => Record<string, string>;
};

let numbers = 1_000_000_000_000;
export const snowflake = (): string => String((numbers += 1));

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

export const buttonOf = (message: DiscordMessage, label: string) => {
  const found = message.components
    .flatMap(({ components }) => components)
    .find((button) => button.label === label);
  if (found === undefined) throw new Error(`no button ${label}`);
  return found;
};

export type DiscordStandIn = Awaited<ReturnType<typeof startDiscord>>;

/** Discord from the view of the approvals service: its message API, and the interactions that it signs. */
export const startDiscord = async (folder: string) => {
  const token = `bot-${crypto.randomUUID()}`;
  const channel = snowflake();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const messages = new Map<string, DiscordMessage>();
  const byNonce = new Map<string, string>();
  const sent: Sent[] = [];
  let trouble: Trouble | undefined;
  let troubleLeft = 0;

  const make = (body: z.infer<typeof Body>): DiscordMessage => {
    const known = body.enforce_nonce === true && byNonce.get(body.nonce ?? '');
    const existing = known === false ? undefined : messages.get(known ?? '');
    if (existing !== undefined) return existing;
    const made = { ...body, id: snowflake(), edits: 0 };
    messages.set(made.id, made);
    if (body.nonce !== undefined) byNonce.set(body.nonce, made.id);
    return made;
  };

  const act = (
    method: string,
    path: string,
    body: unknown,
    authorization = '',
  ): { status: number; answer: unknown } => {
    if (authorization !== `Bot ${token}`)
      return { status: 401, answer: { code: 0, message: '401: Unauthorized' } };
    const [, number, rest = ''] = /^\/api\/channels\/(\d+)\/messages(?:\/(\d+))?$/.exec(path) ?? [];
    if (number !== channel) return { status: 404, answer: { code: 10_003, message: 'Unknown Channel' } };
    const parsed = Body.safeParse(body);
    if (!parsed.success)
      return { status: 400, answer: { code: 50_035, message: z.prettifyError(parsed.error) } };
    if (method === 'POST' && rest === '') return { status: 200, answer: make(parsed.data) };
    const old = messages.get(rest);
    if (method !== 'PATCH' || old === undefined)
      return { status: 404, answer: { code: 10_008, message: 'Unknown Message' } };
    const edited = { ...old, ...parsed.data, edits: old.edits + 1 };
    messages.set(rest, edited);
    return { status: 200, answer: edited };
  };

  const server = createServer((request, response) => {
    void read(request).then((raw) => {
      const { method = '', url = '' } = request;
      const body: unknown = JSON.parse(raw);
      const now = troubleLeft > 0 ? trouble : undefined;
      troubleLeft -= 1;
      if (typeof now === 'string') {
        if (now === 'lost') act(method, url, body, request.headers.authorization);
        sent.push({ method, path: url, status: 0, body });
        return now === 'hang' ? undefined : request.socket.destroy();
      }
      const { status, answer } =
        now === undefined
          ? act(method, url, body, request.headers.authorization)
          : { status: now.status, answer: now.body ?? {} };
      sent.push({ method, path: url, status, body });
      response.writeHead(status, { 'content-type': 'application/json', ...now?.headers });
      return response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const tokenFile = join(folder, 'discord.token');
  await writeFile(tokenFile, `${token}\n`);
  const x = publicKey.export({ format: 'jwk' }).x ?? '';

  /** Sends bytes with a valid signature, unless they are forged. */
  const send = async (port_: number, body: string, forged: Forged = {}): Promise<DiscordAnswer> => {
    const timestamp = forged.timestamp ?? String(Math.floor(Date.now() / 1_000));
    const signature = sign(null, Buffer.from(timestamp + body), privateKey).toString('hex');
    const headers = {
      'content-type': 'application/json',
      'x-signature-ed25519': signature,
      'x-signature-timestamp': timestamp,
    };
    const response = await fetch(`http://127.0.0.1:${String(port_)}/discord/interactions`, {
      method: 'POST',
      headers: forged.headers?.(headers) ?? headers,
      body: forged.afterSigning?.(body) ?? body,
    });
    const answer = z.looseObject({ code: z.string().optional() }).parse(await response.json());
    return {
      ...Answer.catch({ type: 0 }).parse(answer),
      status: response.status,
      ...(answer.code !== undefined && { code: answer.code }),
    };
  };

  const interact = async (
    { port: at, user, message }: Press,
    type: 3 | 5,
    data: object,
    forged: Forged = {},
  ): Promise<DiscordAnswer> => {
    const body = {
      id: forged.id ?? snowflake(),
      application_id: '1',
      type,
      token: 'interaction-token',
      version: 1,
      guild_id: '2',
      channel_id: channel,
      // Discord display names are free text and no identity.
      member: { user: { id: user, username: 'operator', global_name: 'operator' }, roles: [] },
      message: { id: message.id },
      data,
    };
    const answer = await send(at, JSON.stringify(body), forged);
    const old = messages.get(message.id);
    if (answer.type === 7 && old !== undefined)
      messages.set(message.id, { ...old, ...Body.parse(answer.data), edits: old.edits + 1 });
    return answer;
  };

  return {
    token,
    env: {
      HOLDPOINT_DISCORD_TOKEN_FILE: tokenFile,
      HOLDPOINT_DISCORD_CHANNEL: channel,
      HOLDPOINT_DISCORD_PUBLIC_KEY: Buffer.from(x, 'base64url').toString('hex'),
      HOLDPOINT_TEST_DISCORD_API: `http://127.0.0.1:${String(port)}/api`,
    },
    /** The requests to Discord, oldest first. */
    sent: (): readonly Sent[] => sent,
    /** The current messages, oldest first. */
    messages: (): readonly DiscordMessage[] => [...messages.values()],
    /** The current message of an approval. */
    messageOf: (approval: string): DiscordMessage | undefined =>
      [...messages.values()].find(({ embeds }) =>
        embeds.some(({ footer }) => footer.text.startsWith(`approval ${approval},`)),
      ),
    /** For this number of requests. */
    trouble: (what: Trouble, times = Infinity): void => {
      trouble = what;
      troubleLeft = times;
    },
    well: (): void => {
      troubleLeft = 0;
    },
    /** Deletes the message, as a user of Discord can. */
    remove: (id: string): void => void messages.delete(id),
    send,
    /** A user presses a button; the answer may change the message. */
    press: (press: Press, label: string, forged: Forged = {}) =>
      interact(
        press,
        3,
        { component_type: 2, custom_id: forged.customId ?? buttonOf(press.message, label).custom_id },
        forged,
      ),
    /** A user sends the form that a button opened. */
    submit: (
      press: Press,
      customId: string,
      typed: string | Readonly<Record<string, string>>,
      forged: Forged = {},
    ) => {
      const texts = typeof typed === 'string' ? { comment: typed } : typed;
      const components = Object.entries(texts).map(([name, value], i) => ({
        type: 18,
        id: 2 * i + 1,
        component: { type: 4, id: 2 * i + 2, custom_id: name, value },
      }));
      return interact(press, 5, { custom_id: customId, components }, forged);
    },
    stop: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
