import { readFile, stat } from 'node:fs/promises';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import { startPeriodic } from '../observability/periodic.ts';

const LOOK_EVERY_MS = 2_000;

export type FollowedFile<Content> = {
  readonly current: () => Content;
  /** Checks the file now. */
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Changes when the file is replaced and when it is rewritten. */
const stampOf = async (path: string): Promise<string> => {
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs].join('.');
};

/**
 * The content of a file, read again after each change. A file that cannot be read or parsed is logged once,
 * and the last good content stays.
 */
export const followFile = <Content>(
  {
    name,
    path,
    parse,
    changed = () => undefined,
    failed = () => undefined,
  }: {
    /** The setting that names the file. */
    readonly name: string;
    readonly path: string;
    readonly parse: (text: string) => Content;
    readonly changed?: (content: Content) => void;
    /** The last good content stays in use. */
    readonly failed?: (error: unknown) => void;
  },
  first: Content,
  log: Logger,
): FollowedFile<Content> => {
  let content = first;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    let stamp = 'none';
    try {
      stamp = await stampOf(path);
      if (stamp === seen) return;
      content = parse(await readFile(path, 'utf8'));
      changed(content);
    } catch (error) {
      failed(error);
      if (stamp !== seen)
        log.error(
          { ...errorFields(error), file: name },
          'file cannot be read: the last content stays in use',
        );
    }
    // The stamp from before the read: a change during the read is noticed the next time.
    seen = stamp;
  };
  const looking = startPeriodic(name, LOOK_EVERY_MS, look, log);
  return { current: () => content, look, stop: looking.stop };
};
