import { ADVANCED, wholeNumber } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

const isOrigin = (text: string): boolean =>
  /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** Settings of origins and of the WebSocket heartbeat. */
export const WebEnv = z.object({
  HOLDPOINT_WEB_ORIGINS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== ''),
    )
    .refine(
      (origins) => origins.every(isOrigin),
      'origins such as https://approvals.example, comma-separated',
    )
    .describe(
      'Further origins whose pages may call the HTTP API and the WebSocket, comma-separated and exact: `https://approvals.example`',
    ),
  HOLDPOINT_WATCH_HEARTBEAT_MS: wholeNumber(100, 300_000)
    .default(15_000)
    .describe('Interval in milliseconds of WebSocket heartbeats, each of which also checks the token again')
    .meta(ADVANCED),
});
export type WebSettings = z.infer<typeof WebEnv>;
