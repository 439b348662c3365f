import { z } from 'zod';

const isOrigin = (text: string): boolean =>
  /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** What pages may talk to the service from a browser, and how long it waits for watchers that say nothing. */
export const WebEnv = z.object({
  /** Origins beside the service's own, with commas between them. */
  HOLDPOINT_WEB_ORIGINS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== ''),
    )
    .refine((origins) => origins.every(isOrigin), 'origins such as https://approvals.example, with commas'),
  /** How often a watcher is asked whether it is there, and its token whether it still counts. */
  HOLDPOINT_WATCH_HEARTBEAT_MS: z.coerce.number().int().min(100).max(300_000).default(15_000),
});
export type WebSettings = z.infer<typeof WebEnv>;
