import { z } from 'zod';
import { plainPath } from './plain-path.ts';

/** Must fit into a message with everything else. */
const CONTENT_MAX_BYTES = 262_144;
const PATH_MAX = 512;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in hex');

/** Independent of the notation of the path. */
const nameOf = (file: string): string => plainPath(file).split('/').at(-1) ?? '';

/** Relative paths only: an absolute one is of one machine, and approvals knows no workspace to check it against. */
const isInside = (file: string): boolean => {
  const plain = plainPath(file);
  return plain !== '' && plain !== '..' && !plain.startsWith('../') && !plain.startsWith('/');
};

/** A path for effects: neither a lock file nor a temporary file of a write. */
export const FilePath = z
  .string()
  .min(1)
  .max(PATH_MAX)
  .refine((file) => isInside(file), 'a relative path inside HOLDPOINT_WORKSPACE of the executor')
  .refine((file) => !nameOf(file).endsWith('.lock'), 'not the lock of another file')
  .refine((file) => !nameOf(file).startsWith('.holdpoint-'), 'not a file of Holdpoint itself');

/** Arguments of `cap.file.append`: one line. */
export const FileAppend = z.object({
  /** Relative to the executor's workspace. */
  file: FilePath,
  line: z
    .string()
    .max(65_536)
    .refine((line) => !/[\r\n\0]/.test(line), 'one line, without a line end'),
});

const bytesOf = ({
  content,
  contentBase64,
}: {
  content?: string | undefined;
  contentBase64?: string | undefined;
}) => (content === undefined ? Buffer.from(contentBase64 ?? '', 'base64') : Buffer.from(content, 'utf8'));

/** Arguments of `cap.file.write`: writes a whole file atomically. */
export const FileWrite = z
  .object({
    /** Relative to the executor's workspace. */
    file: FilePath,
    /** UTF-8 text, or base64 bytes. Exactly one of the two. */
    content: z.string().max(CONTENT_MAX_BYTES).optional(),
    contentBase64: z
      .base64()
      .max(Math.ceil(CONTENT_MAX_BYTES / 3) * 4)
      .optional(),
    /** Expected state before: absent, or the SHA-256 of the file. Default: any. */
    expect: z.union([z.literal('absent'), Sha256]).optional(),
    /** State of the preview, which must still hold. Set by Holdpoint. */
    preview: z.looseObject({ before: z.object({ sha256: Sha256 }).nullable() }).optional(),
    /** Octal permissions, such as `0644`. Default: those of the old file, or 0640. */
    mode: z
      .string()
      .regex(/^0?[0-7]{3}$/, 'permissions in octal, such as 0644')
      .optional(),
  })
  .refine(
    ({ content, contentBase64 }) => (content === undefined) !== (contentBase64 === undefined),
    'either content or contentBase64',
  )
  .refine(({ content = '' }) => content.isWellFormed(), {
    path: ['content'],
    message: 'well-formed Unicode text',
  })
  .refine(
    (input) => bytesOf(input).length <= CONTENT_MAX_BYTES,
    `at most ${String(CONTENT_MAX_BYTES)} bytes`,
  );
export type FileWrite = z.infer<typeof FileWrite>;

export const contentOf = (input: FileWrite): Uint8Array => bytesOf(input);
