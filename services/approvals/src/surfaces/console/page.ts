import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** One file of the page, as it is sent. */
export type PageFile = {
  readonly type: string;
  readonly etag: string;
  /** Its name changes with its content. */
  readonly hashed: boolean;
  readonly plain: Buffer;
  readonly encoded: { readonly br?: Buffer; readonly gzip?: Buffer };
};

/** The page by the paths of its files. Undefined while it is not built. */
export type Page = {
  readonly find: (path: string) => Promise<PageFile | undefined>;
  readonly isBuilt: () => Promise<boolean>;
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
};
const INDEX = '/index.html';
/** Smaller ones do not become smaller. */
const COMPRESSED_MIN_BYTES = 512;
/** A page has some dozens of files: whatever has more is none. */
const FILES_MAX = 500;
/** Whether it has been built by now is looked at this often. */
const LOOK_EVERY_MS = 1_000;

const deflated = { br: promisify(brotliCompress), gzip: promisify(gzip) };

const fileOf = async (path: string, plain: Buffer): Promise<PageFile> => {
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  const type = TYPES[extname(path)] ?? '';
  const small =
    plain.length < COMPRESSED_MIN_BYTES || type.startsWith('image/png') || type.startsWith('font/');
  const encoded = small
    ? {}
    : {
        br: await deflated.br(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
        gzip: await deflated.gzip(plain, { level: 9 }),
      };
  return { type, etag, hashed: path.startsWith('/assets/'), plain, encoded };
};

const load = async (folder: string): Promise<ReadonlyMap<string, PageFile>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, PageFile>();
  for (const entry of entries.filter((each) => each.isFile()).slice(0, FILES_MAX)) {
    const file = join(entry.parentPath, entry.name);
    const path = `/${relative(folder, file).split(sep).join('/')}`;
    // What is of no kind that a page is made of is for who builds it.
    if (Object.hasOwn(TYPES, extname(path))) files.set(path, await fileOf(path, await readFile(file)));
  }
  return files;
};

/**
 * The files of the page, read once and kept: what is asked for is looked up among their names, so that no path leads anywhere
 * else. One that is not built yet is looked for again, a second apart at the least.
 */
export const createPage = (folder: string, now: () => number = () => performance.now()): Page => {
  let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;
  let lookedAt = -Infinity;
  const files = async (): Promise<ReadonlyMap<string, PageFile>> => {
    if (loading === undefined || (now() - lookedAt >= LOOK_EVERY_MS && !(await loading).has(INDEX))) {
      lookedAt = now();
      loading = load(folder);
    }
    return loading;
  };
  return {
    find: async (path) => (await files()).get(path === '/' ? INDEX : path),
    isBuilt: async () => (await files()).has(INDEX),
  };
};
