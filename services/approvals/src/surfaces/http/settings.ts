import { wholeNumber } from '@holdpoint/runtime/service/config';
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
    .refine((origins) => origins.every(isOrigin), 'origins such as https://approvals.example, with commas')
    .describe(
      'Origins beside its own whose pages may call its HTTP API and watch by WebSocket: `https://approvals.example`, several with commas, each exactly',
    ),
  HOLDPOINT_WATCH_HEARTBEAT_MS: wholeNumber(100, 300_000)
    .default(15_000)
    .describe(
      'How often, in milliseconds, whoever watches by WebSocket is asked whether he is there, and his token whether it still counts',
    ),
});
export type WebSettings = z.infer<typeof WebEnv>;
