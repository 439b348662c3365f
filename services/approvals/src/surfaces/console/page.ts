import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** One file of the page. */
export type PageFile = {
  readonly type: string;
  readonly etag: string;
  /** The file name contains a hash of the content. */
  readonly hashed: boolean;
  readonly plain: Buffer;
  readonly encoded: { readonly br?: Buffer; readonly gzip?: Buffer };
};

/**
 * The files of the page by path. `find` resolves to undefined for other paths, and while the page is not
 * built.
 */
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
/** Compression does not help smaller files. */
const COMPRESSED_MIN_BYTES = 512;
/** The page has some dozens of files. */
const FILES_MAX = 500;
/** Interval of checks whether the page has been built. */
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
    // Other file types are left out.
    if (Object.hasOwn(TYPES, extname(path))) files.set(path, await fileOf(path, await readFile(file)));
  }
  return files;
};

/**
 * The files of the page, read once. Requests are looked up by name, so that no path leads outside the folder.
 * While the page is not built, the folder is read again at most once a second.
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
