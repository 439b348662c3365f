import type { Environment } from '../process/command-env.ts';

/** One entry of the effective configuration. */
export type ConfigEntry = { readonly key: string; readonly value: string };

/** Format of `git config --list -z`: the key, a line end, and the value. A key alone means true. */
export const parseConfig = (listed: string): readonly ConfigEntry[] =>
  listed
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n');
      return end < 0
        ? { key: entry, value: 'true' }
        : { key: entry.slice(0, end), value: entry.slice(end + 1) };
    });

/** Disables every configuration that runs other programs or does more than the command asks for. */
const ALWAYS: readonly ConfigEntry[] = [
  ['core.hookspath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.sshcommand', 'false'],
  ['core.gitproxy', 'false'],
  ['core.askpass', 'false'],
  ['core.editor', 'true'],
  ['core.pager', 'cat'],
  ['core.alternaterefscommand', 'true'],
  ['sequence.editor', 'true'],
  ['credential.helper', ''],
  ['commit.gpgsign', 'false'],
  ['tag.gpgsign', 'false'],
  ['log.showsignature', 'false'],
  ['merge.verifysignatures', 'false'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.ssh.defaultkeycommand', 'false'],
  ['submodule.recurse', 'false'],
  ['diff.ignoresubmodules', 'dirty'],
  ['rerere.enabled', 'false'],
  // Both would continue in the background after the step.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['gc.recentobjectshook', 'true'],
  ['i18n.commitencoding', 'UTF-8'],
  ['color.ui', 'false'],
].map(([key = '', value = '']) => ({ key, value }));

/** Keys with a custom name that make git run a program, and their replacements. */
const NAMED: readonly (readonly [pattern: RegExp, value: string])[] = [
  // An empty filter does nothing.
  [/^filter\..*\.(clean|smudge|process)$/s, ''],
  [/^filter\..*\.required$/s, 'false'],
  // A custom merge driver becomes a conflict, which a user can inspect.
  [/^merge\..*\.driver$/s, 'false'],
  [/^merge\..*\.recursive$/s, 'binary'],
  [/^diff\..*\.textconv$/s, 'cat'],
  [/^diff\.(.*\.command|external)$/s, 'true'],
  [/^hook\..*\.command$/s, 'true'],
  [/^hook\..*\.enabled$/s, 'false'],
  [/^credential\..*\.helper$/s, ''],
  [/^trailer\..*\.(command|cmd)$/s, 'true'],
  [/^remote\..*\.(uploadpack|receivepack|vcs)$/s, 'false'],
  [/^submodule\..*\.update$/s, 'none'],
];

/** The overrides for a configuration. */
export const overridesFor = (config: readonly ConfigEntry[]): readonly ConfigEntry[] => {
  const keys = [...new Set(config.map(({ key }) => key))];
  const named = keys.flatMap((key) => {
    const found = NAMED.find(([pattern]) => pattern.test(key));
    return found === undefined ? [] : [{ key, value: found[1] }];
  });
  return [...ALWAYS, ...identityFor(config), ...named];
};

const identityFor = (config: readonly ConfigEntry[]): readonly ConfigEntry[] => {
  const has = (wanted: string): boolean =>
    config.some(({ key, value }) => key === wanted && value.trim() !== '');
  return [
    ...(has('user.name') ? [] : [{ key: 'user.name', value: 'Holdpoint' }]),
    ...(has('user.email') ? [] : [{ key: 'user.email', value: 'holdpoint@localhost' }]),
  ];
};

/** The configured filters: their files cannot be read or written without running a program. */
export const filtersIn = (config: readonly ConfigEntry[]): ReadonlySet<string> =>
  new Set(
    config.flatMap(({ key, value }) => {
      const name = /^filter\.(.*)\.(clean|smudge|process)$/s.exec(key)?.[1];
      return name === undefined || value === '' ? [] : [name];
    }),
  );

/** As environment variables: `-c key=value` would misread a name that contains `=`. */
const asEnvironment = (entries: readonly ConfigEntry[]): Environment =>
  Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(({ key, value }, index) => [
      [`GIT_CONFIG_KEY_${String(index)}`, key],
      [`GIT_CONFIG_VALUE_${String(index)}`, value],
    ]),
  ]) as Environment;

/** The environment of git: no prompts, no network, English messages. */
export const gitEnv = (env: Environment, overrides: readonly ConfigEntry[] = ALWAYS): Environment => ({
  ...env,
  ...asEnvironment(overrides),
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS: 'false',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_PAGER: 'cat',
  // Overrides every protocol.* setting: no transport is called `none`.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_LITERAL_PATHSPECS: '1',
});
