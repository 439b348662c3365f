/** Properties of a job, each one line of its template. */
const line = (key: string, value: string | undefined): string =>
  value === undefined ? '' : `${key} = ${value}\n`;

type Job = Readonly<Record<string, string | undefined>> & { readonly id: string };

/** Returns the template lines of a job; the default `uses` is a shell command. */
export const job = ({ id, kind = '"shell"', uses = '"cap.env.shell.command.run"', ...more }: Job): string =>
  [
    '\n[[nodes]]\n',
    line('id', `"${id}"`),
    line('kind', kind),
    line('uses', uses),
    ...Object.entries(more).map(([key, value]) => line(key, value)),
  ].join('');

/** Returns a job that runs a script. The script must not contain triple quotes. */
export const shell = (id: string, script: string, more: Omit<Job, 'id'> = {}): string =>
  job({ id, ...more, args: `{ script = '''${script}''' }` });

/** Returns the text of a template; `head` precedes the jobs. */
export const template = (id: string, jobs: readonly string[], head = ''): string =>
  `id = "template.${id}"\nversion = "v1"\n${head}${jobs.join('')}`;

/** A script that runs until the file exists: tests keep jobs running with it. */
export const untilThere = (file: string): string => `while [ ! -e '${file}' ]; do sleep 0.1; done`;
