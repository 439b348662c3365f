import { z } from 'zod';

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  // A wildcard would not be one: `*` is an ordinary letter in a host name.
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && !text.includes('*');
};

/** Exact origins, comma-separated; a trailing slash is not part of an origin. */
export const Origins = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(',').map((part) => part.trim())))
  .refine(
    (origins) => origins.every(isOrigin),
    'origins such as https://api.example:8443, with commas between them',
  )
  .transform((origins): ReadonlySet<string> => new Set(origins))
  .default(new Set());

/** Where executors send notices, and approvals callbacks. */
export const NotifyEnv = z.object({
  HOLDPOINT_NOTIFY_TARGETS: Origins.describe(
    'Exact origins that `cap.notify.*` and callbacks of held effects may call, comma-separated: `https://discord.com`, `https://hooks.slack.com`, webhook receivers',
  ),
});
