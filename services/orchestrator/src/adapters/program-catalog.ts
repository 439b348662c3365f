import { type ProgramDefinition, programHash } from '@holdpoint/contracts/program/definition';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import { type ProgramRow, programsAfter, registerPrograms } from '../queries/programs.ts';

/** Programs that another replica registered are known here after this time. */
const READ_EVERY_MS = 5_000;
const PAGE = 200;
/** The sequence number is drawn before the commit, so recent rows are read again. */
const OVERLAP = 100;
/** Limit for remembered unknown names. They are forgotten with the next reading. */
const UNKNOWN_MAX = 10_000;

/** Resolves program names for submissions. A task keeps the version that it started with. */
export const createProgramCatalog = (log: Logger) => {
  /** By `id` and by `id@version`: the latest registration. */
  const latest = new Map<string, ProgramRow>();
  let place = 0;
  /**
   * Readings are numbered by their start. A reading covers every program that was registered before its
   * start.
   */
  let [begun, done] = [0, 0];
  /** The number of the latest reading when an unknown name was first requested. */
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

  /** The submission brings its own definition, or names a known program. */
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
    /** Adds the program that a submission names. Submissions with their own definition stay unchanged. */
    named,
    /**
     * Whether an unknown name is certainly unknown: a reading must have started after the first request.
     * Until then the submission is deferred.
     */
    isCertain,
    /**
     * Resolves a name, with a fresh reading for an unknown one: another replica may have registered it just
     * now, or this replica has only started. A refusal is final, so it must be certain.
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
        log.warn(errorFields(error), 'cannot read programs; known programs still resolve'),
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
