/** Reports progress to a terminal: one line per step, none for steps under a second. */
export interface Progress {
  readonly say: (line: string) => void;
  readonly step: <Result>(label: string, work: () => Promise<Result>) => Promise<Result>;
}

const SILENT_MS = 1_000;
const REMINDER_MS = 10_000;

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

export const createProgress = (write: (line: string) => void): Progress => {
  const step = async <Result>(label: string, work: () => Promise<Result>): Promise<Result> => {
    const started = performance.now();
    let shown = false;
    const show = () => {
      write(shown ? `  ${label} ... ${seconds(performance.now() - started)} so far` : `  ${label} ...`);
      shown = true;
      timer = setTimeout(show, REMINDER_MS);
    };
    let timer = setTimeout(show, SILENT_MS);
    try {
      const result = await work();
      if (shown) write(`  ${label}: done in ${seconds(performance.now() - started)}`);
      return result;
    } finally {
      clearTimeout(timer);
    }
  };
  return { say: (line) => write(line), step };
};

export const silent: Progress = { say: () => undefined, step: (_label, work) => work() };

export const onStdout = createProgress((line) => process.stdout.write(`${line}\n`));

/** Where standard output is for results. */
export const onStderr = createProgress((line) => process.stderr.write(`${line}\n`));
