import { ADVANCED, wholeNumber } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { isAddressRange } from './source.ts';

const isOrigin = (text: string): boolean =>
  /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;

const commaSeparated = () =>
  z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== ''),
    );

/** Settings of origins, proxies and the WebSocket heartbeat. */
export const WebEnv = z.object({
  HOLDPOINT_WEB_ORIGINS: commaSeparated()
    .refine(
      (origins) => origins.every(isOrigin),
      'origins such as https://approvals.example, comma-separated',
    )
    .describe(
      'Further origins whose pages may call the HTTP API and the WebSocket, comma-separated and exact: `https://approvals.example`',
    ),
  HOLDPOINT_TRUSTED_PROXIES: commaSeparated()
    .refine((ranges) => ranges.every(isAddressRange), 'addresses such as 10.0.0.0/8, comma-separated')
    .describe(
      'Proxies whose `X-Forwarded-For` names the client, by which failed attempts and connections are limited: addresses or ranges, `10.0.0.0/8`, comma-separated. Unset: the header is ignored',
    )
    .meta(ADVANCED),
  HOLDPOINT_WATCH_HEARTBEAT_MS: wholeNumber(100, 300_000)
    .default(15_000)
    .describe('Interval in milliseconds of WebSocket heartbeats, each of which also checks the token again')
    .meta(ADVANCED),
});
export type WebSettings = z.infer<typeof WebEnv>;
