import { Hono } from 'hono';
import type { Env } from '../http/api.ts';
import type { Page, PageFile } from './page.ts';

/** No content from other origins, no inline scripts, and no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const NOT_BUILT = `The console is not built: run "pnpm build" in packages/console, or set HOLDPOINT_CONSOLE_DIR.
The rest of this service works without it.
`;
const FOREVER = 'public, max-age=31536000, immutable';

/** The smallest encoding that the browser accepts. */
const formFor = (
  { plain, encoded }: PageFile,
  accepted: string,
): { body: Buffer; encoding?: 'br' | 'gzip' } => {
  const taken = new Set(accepted.split(',').map((each) => each.trim().split(';', 1)[0]));
  if (encoded.br !== undefined && taken.has('br')) return { body: encoded.br, encoding: 'br' };
  if (encoded.gzip !== undefined && taken.has('gzip')) return { body: encoded.gzip, encoding: 'gzip' };
  return { body: plain };
};

/** Serves the files of the page; other paths go to the next route. */
export const pageRoutes = (page: Page): Hono<Env> => {
  const app = new Hono<Env>();
  app.get('*', async (context, next) => {
    const { req } = context;
    const isStart = req.path === '/' || req.path === '/index.html';
    const file = await page.find(req.path);
    if (file === undefined && !isStart) return next();
    for (const [name, value] of Object.entries(PAGE_HEADERS)) context.header(name, value);
    if (file === undefined) {
      context.header('cache-control', 'no-store');
      context.header('retry-after', '5');
      return context.text(NOT_BUILT, 503);
    }
    context.header('cache-control', file.hashed ? FOREVER : isStart ? 'no-store' : 'no-cache');
    context.header('etag', file.etag);
    context.header('vary', 'accept-encoding');
    if (req.header('if-none-match') === file.etag) return context.body(null, 304);
    const { body, encoding } = formFor(file, req.header('accept-encoding') ?? '');
    context.header('content-type', file.type);
    if (encoding !== undefined) context.header('content-encoding', encoding);
    return context.body(new Uint8Array(body));
  });
  return app;
};
