/** What a job of a flow is made of, as a line of its template. */
const line = (key: string, value: string | undefined): string =>
  value === undefined ? '' : `${key} = ${value}\n`;

type Job = Readonly<Record<string, string | undefined>> & { readonly id: string };

/** A job by the lines of its template: `uses` is a shell command when nothing is said. */
export const job = ({ id, kind = '"shell"', uses = '"cap.env.shell.command.run"', ...more }: Job): string =>
  [
    '\n[[nodes]]\n',
    line('id', `"${id}"`),
    line('kind', kind),
    line('uses', uses),
    ...Object.entries(more).map(([key, value]) => line(key, value)),
  ].join('');

/** A job that runs a script, which may have anything in it but three quotes. */
export const shell = (id: string, script: string, more: Omit<Job, 'id'> = {}): string =>
  job({ id, ...more, args: `{ script = '''${script}''' }` });

/** The text of a template. `head` is what stands before its jobs. */
export const template = (id: string, jobs: readonly string[], head = ''): string =>
  `id = "template.${id}"\nversion = "v1"\n${head}${jobs.join('')}`;

/** Lasts until there is a file: how a test keeps a job running. */
export const untilThere = (file: string): string => `while [ ! -e '${file}' ]; do sleep 0.1; done`;
