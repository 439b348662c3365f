import { type ProgramDefinition, programHash } from '@holdpoint/contracts/program/definition';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import { type ProgramRow, programsAfter, registerPrograms } from '../queries/programs.ts';

/** What another replica has registered is known here after this. */
const READ_EVERY_MS = 2_000;
const PAGE = 200;
/** A number is drawn before its row is committed: the latest are read again, so that none is passed over. */
const OVERLAP = 100;
/** Names that nobody knows are remembered until the next reading, and no more of them than this. */
const UNKNOWN_MAX = 10_000;

/**
 * Which programs are known by their names. A task keeps what it was started with; this only says what a name means when
 * somebody starts one.
 */
export const createProgramCatalog = (log: Logger) => {
  /** By `id`, and by `id@version`: the one that was registered last. */
  const latest = new Map<string, ProgramRow>();
  let place = 0;
  /** Readings are numbered by their beginning: what was registered before it is known at its end. */
  let [begun, done] = [0, 0];
  /** Which reading had begun when a name was first asked for in vain. */
  const unknown = new Map<string, number>();

  const learn = (row: ProgramRow): void => {
    for (const name of [row.id, `${row.id}@${row.version}`]) {
      const known = latest.get(name);
      if (known === undefined || known.place < row.place) latest.set(name, row);
    }
    place = Math.max(place, row.place);
  };

  const readPages = async (pool: Pool): Promise<void> => {
    let from = Math.max(0, place - OVERLAP);
    for (;;) {
      const rows = await programsAfter(pool, from, PAGE);
      for (const row of rows) learn(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      from = last.place;
    }
  };
  const read = async (pool: Pool): Promise<void> => {
    const reading = (begun += 1);
    await readPages(pool);
    done = Math.max(done, reading);
  };

  /** It brings along what it means, or names what is known. */
  const isPlain = ({ definition, program, workflow }: SubmitTask): boolean =>
    definition !== undefined || program !== undefined || latest.has(workflow);

  const isCertain = (submission: SubmitTask): boolean => {
    if (isPlain(submission)) return true;
    const since = unknown.get(submission.workflow);
    if (since !== undefined && done > since) {
      unknown.delete(submission.workflow);
      return true;
    }
    if (unknown.size >= UNKNOWN_MAX) unknown.clear();
    if (since === undefined) unknown.set(submission.workflow, begun);
    return false;
  };

  const named = (submission: SubmitTask): SubmitTask => {
    if (submission.definition !== undefined || submission.program !== undefined) return submission;
    const program = latest.get(submission.workflow)?.definition;
    return program === undefined ? submission : { ...submission, program };
  };

  return {
    find: (name: string): ProgramDefinition | undefined => latest.get(name)?.definition,
    /** A submission that names a program says which one, from here on. What brings a definition of its own stays as it is. */
    named,
    /**
     * Whether a name that is not known may be said to be nobody's: once all has been read that was registered before it was
     * first asked for. Until then its submission is to be looked at again.
     */
    isCertain,
    /**
     * What `named` says, read anew where the name is not known: another replica may have registered it a moment ago, and a replica
     * that has just started has read nothing so far. To be told that there is no such workflow is final.
     */
    lookUp: async (pool: Pool, submission: SubmitTask): Promise<SubmitTask> => {
      if (!isPlain(submission)) await read(pool);
      return named(submission);
    },
    register: async (pool: Pool, programs: readonly ProgramDefinition[]): Promise<readonly ProgramRow[]> => {
      const rows = await registerPrograms(pool, programs);
      for (const row of rows) learn(row);
      log.info(
        { programs: programs.map((each) => `${each.id}@${each.version} ${programHash(each)}`) },
        'registered',
      );
      return rows;
    },
    follow: (pool: Pool): { readonly stop: () => Promise<void> } => {
      const first = read(pool).catch((error: unknown) =>
        log.warn(errorFields(error), 'programs could not be read: those known before are found'),
      );
      const following = startPeriodic('programs', READ_EVERY_MS, () => read(pool), log);
      return {
        stop: async () => {
          await following.stop();
          await first;
        },
      };
    },
  };
};
export type ProgramCatalog = ReturnType<typeof createProgramCatalog>;
