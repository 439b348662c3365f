import { expect, test } from 'vitest';
import { hashOf } from './compile.ts';
import { compiled, errorsIn, flow, timed, type Files } from '../../testing/template.ts';

/** A chain in groups of three: a commit, a stop gate, and a route back. */
const chain = (nodes: number): Files => {
  const parts: string[] = ['[params]\nslug = "s"\ncheck = "true"\n'];
  for (let n = 0; n < nodes; n += 3) {
    const [one, two, three, next] = [n, n + 1, n + 2, n + 3].map((index) => `n${String(index)}`);
    parts.push(
      `[[nodes]]\nid = "${String(one)}"\nuses = "cap.env.shell.command.run"\nargs = { command = "true \${slug}" }\non = { succeeded = ["${String(two)}"] }`,
      `[[nodes]]\nid = "${String(two)}"\nuses = "cap.env.builtin.git.stage_commit"\nargs = { message = "\${slug}" }\non = { succeeded = ["${String(three)}"] }`,
      `[[nodes]]\nid = "${String(three)}"\nuses = "control.gate.stop_condition"\ngates = [{ kind = "script", script = "\${check}" }]\nretry = { mode = "until_gate" }`,
      `on = { failed = ["${String(one)}"], succeeded = [${n + 3 < nodes ? `"${String(next)}"` : ''}] }`,
    );
  }
  return flow(...parts);
};

/** The minimum of several runs: the first ones also warm up the compiler. */
const least = (files: Files): number =>
  Math.min(...Array.from({ length: 4 }, () => timed(() => compiled(files)).ms));

test('a template of 1,000 nodes is compiled in less than 200 ms', () => {
  const files = chain(999);
  expect(errorsIn(compiled(files))).toEqual([]);
  expect(least(files)).toBeLessThan(200);
});

test('a template of 10,000 nodes in several stages compiles in linear time', () => {
  const small = least(chain(999));
  const stage = chain(2_502)['flow.toml'] ?? '';
  const imports = ['a', 'b', 'c', 'd'].map((name) => `[[imports]]\nname = "${name}"\npath = "s.toml"\n`);
  const links = ['ab', 'bc', 'cd'].map(
    ([from = '', to = '']) => `[[links]]\nfrom = "${from}"\nto = "${to}"\n`,
  );
  const { value, ms } = timed(() => compiled({ ...flow(...imports, ...links), 's.toml': stage }));
  expect(errorsIn(value)).toEqual([]);
  expect(value.definition?.nodes).toHaveLength(10_008);
  // Ten times the nodes; quadratic time would mean a hundred times the work.
  expect(ms / small).toBeLessThan(40);
  const hashed = timed(() => value.definition && hashOf(value.definition));
  expect(hashed.value).toMatch(/^[0-9a-f]{64}$/);
  expect(hashed.ms / small).toBeLessThan(40);
});

test('thousands of mistakes are found in linear time and reported up to a limit', () => {
  const small = least(chain(999));
  const wrong = (chain(3_000)['flow.toml'] ?? '')
    .replaceAll('git.stage_commit', 'git.stage_comit')
    .replaceAll('${slug}', '${slgu}');
  const { value, ms } = timed(() => compiled({ 'flow.toml': wrong }));
  expect(value.definition).toBeUndefined();
  expect(value.problems).toHaveLength(1_001);
  expect(value.problems.at(-1)?.code).toBe('WORKFLOW_PROBLEMS_MANY');
  expect(ms / small).toBeLessThan(40);
});
