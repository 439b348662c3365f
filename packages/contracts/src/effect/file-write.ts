import { z } from 'zod';

/** A message of the bus has to hold it, beside everything else. */
const CONTENT_MAX_BYTES = 262_144;
const PATH_MAX = 512;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in hex');

/** However the path to it is written. */
const nameOf = (file: string): string => {
  const way: string[] = [];
  for (const part of file.split('/')) {
    if (part === '..') way.pop();
    else if (part !== '' && part !== '.') way.push(part);
  }
  return way.at(-1) ?? '';
};

/** A path of an effect: not the lock beside another file, nor what a write leaves while it is under way. */
export const FilePath = z
  .string()
  .min(1)
  .max(PATH_MAX)
  .refine((file) => !nameOf(file).endsWith('.lock'), 'not the lock of another file')
  .refine((file) => !nameOf(file).startsWith('.holdpoint-'), 'not a file of Holdpoint itself');

const bytesOf = ({
  content,
  contentBase64,
}: {
  content?: string | undefined;
  contentBase64?: string | undefined;
}) => (content === undefined ? Buffer.from(contentBase64 ?? '', 'base64') : Buffer.from(content, 'utf8'));

/** The arguments of `cap.file.write`: a whole file, which is there afterwards as it is written here, or not at all. */
export const FileWrite = z
  .object({
    /** Relative to the executor's workspace. */
    file: FilePath,
    /** Text, in UTF-8; or bytes, in base64. One of the two. */
    content: z.string().max(CONTENT_MAX_BYTES).optional(),
    contentBase64: z
      .base64()
      .max(Math.ceil(CONTENT_MAX_BYTES / 3) * 4)
      .optional(),
    /** What has to be there: nothing, or a file with this SHA-256. When left out, whatever there is. */
    expect: z.union([z.literal('absent'), Sha256]).optional(),
    /** What was shown beforehand: the file has to be as it was then. Set by Holdpoint. */
    preview: z.looseObject({ before: z.object({ sha256: Sha256 }).nullable() }).optional(),
    /** Permissions in octal, such as `0644`. When left out, those of the file before, or 0640. */
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
    message: 'text that UTF-8 can hold',
  })
  .refine(
    (input) => bytesOf(input).length <= CONTENT_MAX_BYTES,
    `at most ${String(CONTENT_MAX_BYTES)} bytes`,
  );
export type FileWrite = z.infer<typeof FileWrite>;

/** The bytes that the file is to hold. */
export const contentOf = (input: FileWrite): Uint8Array => bytesOf(input);
