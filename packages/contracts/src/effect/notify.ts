import { z } from 'zod';
import { HttpUrl, originOf } from './http-request.ts';
import { Json } from '../values/json.ts';

const SECRETS_MAX = 4;
const DISCORD_CONTENT_MAX = 2_000;
const DISCORD_EMBEDS_MAX = 10;
const DISCORD_FIELDS_MAX = 25;
/** Counted over the texts of all embeds, as Discord does. */
const DISCORD_EMBEDDED_MAX = 6_000;
/** Longer texts are cut by Slack. */
const SLACK_TEXT_MAX = 4_000;

/** A text that consists of one secret reference. */
const SecretReference = z
  .string()
  .max(80)
  .regex(/^\$\{secret:[A-Za-z0-9_.-]{1,64}\}$/, 'a secret reference: ${secret:NAME}');

const Origin = z
  .string()
  .max(512)
  .refine(
    (text) => HttpUrl.safeParse(text).success && originOf(text) === text,
    'an origin, such as https://api.example',
  );

/** Arguments of `cap.notify.webhook`: one event, signed according to the Standard Webhooks specification. */
export const NotifyWebhook = z.object({
  url: HttpUrl,
  /** Signing keys, each a `whsec_` secret; several during a rotation. */
  secrets: z.array(SecretReference).min(1).max(SECRETS_MAX),
  /** Type of the event, such as `invoice.paid`. */
  type: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/, 'words of letters, digits and _, separated by dots'),
  /** Time of the event. A header carries the time of sending. */
  timestamp: z.iso.datetime().optional(),
  data: Json,
});
export type NotifyWebhook = z.infer<typeof NotifyWebhook>;

const Text = (max: number) => z.string().min(1).max(max);

const DiscordEmbed = z.object({
  title: Text(256).optional(),
  description: Text(4_096).optional(),
  url: HttpUrl.optional(),
  /** RGB color as one number. */
  color: z.int().min(0).max(0xffffff).optional(),
  fields: z
    .array(z.object({ name: Text(256), value: Text(1_024), inline: z.boolean().optional() }))
    .max(DISCORD_FIELDS_MAX)
    .optional(),
});
type DiscordEmbed = z.infer<typeof DiscordEmbed>;

const lengthOf = ({ title = '', description = '', fields = [] }: DiscordEmbed): number =>
  fields.reduce(
    (sum, { name, value }) => sum + name.length + value.length,
    title.length + description.length,
  );

/** Arguments of `cap.notify.discord`. */
export const NotifyDiscord = z
  .object({
    /** Webhook URL, a secret. */
    webhook: SecretReference,
    /** Expected origin of the URL. */
    origin: Origin.default('https://discord.com'),
    content: Text(DISCORD_CONTENT_MAX).optional(),
    embeds: z.array(DiscordEmbed).min(1).max(DISCORD_EMBEDS_MAX).optional(),
  })
  .refine(({ content, embeds }) => content !== undefined || embeds !== undefined, 'content or embeds')
  .refine(
    ({ embeds = [] }) => embeds.reduce((sum, embed) => sum + lengthOf(embed), 0) <= DISCORD_EMBEDDED_MAX,
    `at most ${String(DISCORD_EMBEDDED_MAX)} characters in all embeds`,
  );
export type NotifyDiscord = z.infer<typeof NotifyDiscord>;

/** Arguments of `cap.notify.slack`, for Slack and compatible webhooks. */
export const NotifySlack = z.object({
  /** Webhook URL, a secret. */
  webhook: SecretReference,
  /** Expected origin of the URL. */
  origin: Origin.default('https://hooks.slack.com'),
  /** Sent as plain text: `&`, `<` and `>` are escaped, so it cannot mention users. */
  text: Text(SLACK_TEXT_MAX),
});
export type NotifySlack = z.infer<typeof NotifySlack>;
